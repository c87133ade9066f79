SELECT count(*), sum(x.v1), sum(big.v2) FROM x JOIN big ON x.id6 = big.key

SELECT count(*), sum(x.v1), sum(medium.v2) FROM x JOIN medium ON x.id6 = medium.key

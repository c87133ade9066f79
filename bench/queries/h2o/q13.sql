SELECT count(*), sum(x.v1), sum(medium.v2) FROM x LEFT JOIN medium ON x.id6 = medium.key

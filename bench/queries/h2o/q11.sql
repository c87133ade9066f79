SELECT count(*), sum(x.v1), sum(small.v2) FROM x JOIN small ON x.id5 = small.key

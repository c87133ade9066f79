SELECT count(*), sum(x.v1), sum(m.v2) FROM x JOIN (SELECT id3, max(v2) AS v2 FROM medium GROUP BY id3) m ON x.id3 = m.id3

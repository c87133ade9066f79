SELECT id2, id4, pow(corr(v1, v2), 2) AS r2 FROM x GROUP BY id2, id4 HAVING min(v1) < max(v1) AND min(v2) < max(v2)

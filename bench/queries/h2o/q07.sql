SELECT id3, max(v1) - min(v2) AS range FROM x GROUP BY id3

SELECT sourceIP, totalRevenue, avgPageRank
FROM (
  SELECT uv.sourceIP, avg(r.pageRank) AS avgPageRank, sum(uv.adRevenue) AS totalRevenue
  FROM rankings r JOIN uservisits uv ON r.pageURL = uv.destURL
  WHERE uv.visitDate BETWEEN DATE '1980-01-01' AND DATE '1983-01-01'
  GROUP BY uv.sourceIP
) t
ORDER BY totalRevenue DESC
LIMIT 1

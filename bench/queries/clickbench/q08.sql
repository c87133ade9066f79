SELECT AdvEngineID, count(*) AS views FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY views DESC, AdvEngineID

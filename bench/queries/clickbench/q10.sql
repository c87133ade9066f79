SELECT RegionID, sum(AdvEngineID), count(*) AS views, avg(ResolutionWidth), count(DISTINCT UserID) FROM hits GROUP BY RegionID ORDER BY views DESC, RegionID LIMIT 10

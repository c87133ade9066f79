SELECT WatchID, ClientIP, count(*) AS views, sum(IsRefresh), avg(ResolutionWidth) FROM hits GROUP BY WatchID, ClientIP ORDER BY views DESC, WatchID, ClientIP LIMIT 10

SELECT WatchID, ClientIP, count(*) AS views, sum(IsRefresh), avg(ResolutionWidth) FROM hits WHERE SearchPhrase <> '' GROUP BY WatchID, ClientIP ORDER BY views DESC, WatchID, ClientIP LIMIT 10

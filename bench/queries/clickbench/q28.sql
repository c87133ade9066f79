SELECT CounterID, avg(length(URL)) AS l, count(*) AS views FROM hits WHERE URL <> '' GROUP BY CounterID HAVING count(*) > 100 ORDER BY l DESC, CounterID LIMIT 25

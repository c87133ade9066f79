SELECT UserID, count(*) AS views FROM hits GROUP BY UserID ORDER BY views DESC, UserID LIMIT 10

SELECT 1 AS one, URL, count(*) AS views FROM hits GROUP BY 1, URL ORDER BY views DESC, URL LIMIT 10

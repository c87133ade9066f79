SELECT UserID, SearchPhrase, count(*) AS views FROM hits GROUP BY UserID, SearchPhrase ORDER BY views DESC, UserID, SearchPhrase LIMIT 10

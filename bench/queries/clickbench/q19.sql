SELECT UserID, minute(EventTime) AS m, SearchPhrase, count(*) AS views FROM hits GROUP BY UserID, minute(EventTime), SearchPhrase ORDER BY views DESC, UserID, m, SearchPhrase LIMIT 10

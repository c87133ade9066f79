SELECT count(*), min(views) FROM (SELECT UserID, SearchPhrase, count(*) AS views FROM hits GROUP BY UserID, SearchPhrase) t

SELECT SearchEngineID, SearchPhrase, count(*) AS views FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, SearchPhrase ORDER BY views DESC, SearchEngineID, SearchPhrase LIMIT 10

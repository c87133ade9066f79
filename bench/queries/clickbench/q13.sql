SELECT SearchPhrase, count(*) AS views FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY views DESC, SearchPhrase LIMIT 10

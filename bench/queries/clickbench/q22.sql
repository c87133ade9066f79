SELECT SearchPhrase, min(URL), count(*) AS views FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY views DESC, SearchPhrase LIMIT 10

SELECT SearchPhrase, count(DISTINCT UserID) AS users FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY users DESC, SearchPhrase LIMIT 10

SELECT count(*) FROM hits WHERE URL LIKE '%google%'

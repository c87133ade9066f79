-- Statistics of bids by auction and day. Nexmark's q17 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT auction, date_format(dateTime, 'yyyy-MM-dd') AS day, count(*) AS bids,
  count(*) FILTER (WHERE price < 10000) AS low,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
  count(*) FILTER (WHERE price >= 1000000) AS high,
  min(price) AS least, max(price) AS most, avg(price) AS mean, sum(price) AS total
FROM bid
GROUP BY auction, date_format(dateTime, 'yyyy-MM-dd')

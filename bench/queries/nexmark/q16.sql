-- Statistics of bids by channel and day. Nexmark's q16 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT channel, date_format(dateTime, 'yyyy-MM-dd') AS day, max(date_format(dateTime, 'HH:mm')) AS minute, count(*) AS bids,
  count(*) FILTER (WHERE price < 10000) AS low,
  count(*) FILTER (WHERE price >= 1000000) AS high,
  count(DISTINCT bidder) AS bidders,
  count(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle_bidders,
  count(DISTINCT auction) AS auctions
FROM bid
GROUP BY channel, date_format(dateTime, 'yyyy-MM-dd')

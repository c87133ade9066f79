-- Statistics of bids by day. Nexmark's q15 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT date_format(dateTime, 'yyyy-MM-dd') AS day, count(*) AS bids,
  count(*) FILTER (WHERE price < 10000) AS low,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle,
  count(*) FILTER (WHERE price >= 1000000) AS high,
  count(DISTINCT bidder) AS bidders,
  count(DISTINCT bidder) FILTER (WHERE price < 10000) AS low_bidders,
  count(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS high_bidders,
  count(DISTINCT auction) AS auctions,
  count(DISTINCT auction) FILTER (WHERE price >= 1000000) AS high_auctions
FROM bid
GROUP BY date_format(dateTime, 'yyyy-MM-dd')

-- Highest bid of each ten seconds. Nexmark's q7 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT auction, bidder, price, dateTime
FROM (
  SELECT auction, bidder, price, dateTime, rank() OVER (PARTITION BY window(dateTime, '10 seconds').start ORDER BY price DESC) AS place
  FROM bid
) ranked
WHERE place <= 1

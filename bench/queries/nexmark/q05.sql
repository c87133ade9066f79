-- Hot items: the auctions with most bids in the last ten seconds, each two seconds. Nexmark's q5 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT auction, num, start
FROM (
  SELECT auction, num, start, rank() OVER (PARTITION BY start ORDER BY num DESC) AS place
  FROM (
    SELECT auction, window.start AS start, count(*) AS num
    FROM bid
    GROUP BY auction, window(dateTime, '10 seconds', '2 seconds')
  ) counted
) ranked
WHERE place = 1

-- Bids of each user by the time at which they are read, in windows of ten seconds. Nexmark's q12 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT bidder, count(*) AS bids, window.start AS start
FROM bid
GROUP BY bidder, window(current_timestamp(), '10 seconds')

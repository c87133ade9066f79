-- The last bid of each user on each auction. Nexmark's q18 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT auction, bidder, price, channel, dateTime
FROM (SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS place FROM bid) ranked
WHERE place <= 1

-- The ten highest bids on each auction. Nexmark's q19 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT auction, bidder, price, dateTime, place
FROM (SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime) AS place FROM bid) ranked
WHERE place <= 10

-- Winning bids: the highest one of each auction, and the first of those. Nexmark's q9 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT id, itemName, seller, category, bidder, price, bidTime
FROM (
  SELECT a.id, a.itemName, a.seller, a.category, b.bidder, b.price, b.dateTime AS bidTime,
    row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) AS place
  FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
) ranked
WHERE place <= 1

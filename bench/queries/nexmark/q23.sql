-- Bids of people who sell something, with each of their auctions. Nexmark's q23 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT b.auction, b.bidder, b.price, b.dateTime, p.name, p.city, a.id, a.itemName, a.category
FROM bid b JOIN person p ON p.id = b.bidder JOIN auction a ON a.seller = b.bidder

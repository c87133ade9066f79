-- Bids with the auctions of one category. Nexmark's q20 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT b.auction, b.bidder, b.price, b.channel, b.dateTime, a.itemName, a.seller, a.category
FROM bid b JOIN auction a ON b.auction = a.id
WHERE a.category = 10

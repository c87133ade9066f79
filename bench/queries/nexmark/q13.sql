-- Bids beside the rows of a table. Nexmark's q13 in own words (https://github.com/nexmark/nexmark).
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bid b JOIN side_input s ON b.auction % 10000 = s.key

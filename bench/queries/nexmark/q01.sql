-- Currency conversion: prices of bids in euros. Nexmark's q1 in own words (https://github.com/nexmark/nexmark).
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid

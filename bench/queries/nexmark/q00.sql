-- Pass through: all bids. Nexmark's q0 in own words (https://github.com/nexmark/nexmark).
SELECT auction, bidder, price, dateTime, extra FROM bid

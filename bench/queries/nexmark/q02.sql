-- Selection: bids on some auctions. Nexmark's q2 in own words (https://github.com/nexmark/nexmark).
SELECT auction, price FROM bid WHERE auction % 123 = 0

-- Folders of addresses. Nexmark's q22 in own words (https://github.com/nexmark/nexmark).
SELECT auction, bidder, price, channel, split(url, '/')[3] AS dir1, split(url, '/')[4] AS dir2, split(url, '/')[5] AS dir3
FROM bid

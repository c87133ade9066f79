-- Log: bids by day and minute, as Hive partitions. Nexmark's q10 in own words (https://github.com/nexmark/nexmark).
-- clauses: PARTITIONED BY (dt, hm)
SELECT auction, bidder, price, dateTime, extra, date_format(dateTime, 'yyyy-MM-dd') AS dt, date_format(dateTime, 'HH:mm') AS hm
FROM bid

-- Sessions: bids of each user without a break of ten seconds. Nexmark's q11 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT bidder, count(*) AS bids, session_window.start AS first, session_window.end AS last
FROM bid
GROUP BY bidder, session_window(dateTime, '10 seconds')

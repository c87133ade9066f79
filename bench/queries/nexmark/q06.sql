-- Average selling price of the last ten auctions of each seller. Nexmark's q6 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT seller, id, avg(final) OVER (PARTITION BY seller ORDER BY ended, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS price
FROM (
  SELECT a.seller, a.id, max(b.price) AS final, max(a.expires) AS ended
  FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.seller, a.id
) sold

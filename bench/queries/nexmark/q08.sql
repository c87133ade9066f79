-- New users: who has come and opened an auction within the same ten seconds. Nexmark's q8 in own words (https://github.com/nexmark/nexmark).
-- clauses: WITH UNBOUNDED STATE
SELECT p.id, p.name, p.start
FROM (SELECT id, name, window.start AS start FROM person GROUP BY id, name, window(dateTime, '10 seconds')) p
JOIN (SELECT seller, window.start AS start FROM auction GROUP BY seller, window(dateTime, '10 seconds')) a
ON p.id = a.seller AND p.start = a.start

SELECT MobilePhoneModel, count(DISTINCT UserID) AS users FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY users DESC, MobilePhoneModel LIMIT 10

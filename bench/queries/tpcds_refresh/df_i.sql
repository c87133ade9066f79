-- Stocks in a range of dates.
DELETE FROM inventory WHERE inv_date_sk IN (
  SELECT d_date_sk FROM date_dim WHERE d_date BETWEEN CAST('${date1}' AS DATE) AND CAST('${date2}' AS DATE)
);

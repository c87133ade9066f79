-- Sales on the web in a range of dates, and what was returned of them.
DELETE FROM web_returns WHERE wr_order_number IN (
  SELECT ws_order_number FROM web_sales, date_dim
  WHERE ws_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('${date1}' AS DATE) AND CAST('${date2}' AS DATE)
);

DELETE FROM web_sales WHERE ws_sold_date_sk IN (
  SELECT d_date_sk FROM date_dim WHERE d_date BETWEEN CAST('${date1}' AS DATE) AND CAST('${date2}' AS DATE)
);

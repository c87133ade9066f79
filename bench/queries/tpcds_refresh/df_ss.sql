-- Sales of stores in a range of dates, and what was returned of them.
DELETE FROM store_returns WHERE sr_ticket_number IN (
  SELECT ss_ticket_number FROM store_sales, date_dim
  WHERE ss_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('${date1}' AS DATE) AND CAST('${date2}' AS DATE)
);

DELETE FROM store_sales WHERE ss_sold_date_sk IN (
  SELECT d_date_sk FROM date_dim WHERE d_date BETWEEN CAST('${date1}' AS DATE) AND CAST('${date2}' AS DATE)
);

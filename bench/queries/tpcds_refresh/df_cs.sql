-- Sales by catalog in a range of dates, and what was returned of them.
DELETE FROM catalog_returns WHERE cr_order_number IN (
  SELECT cs_order_number FROM catalog_sales, date_dim
  WHERE cs_sold_date_sk = d_date_sk AND d_date BETWEEN CAST('${date1}' AS DATE) AND CAST('${date2}' AS DATE)
);

DELETE FROM catalog_sales WHERE cs_sold_date_sk IN (
  SELECT d_date_sk FROM date_dim WHERE d_date BETWEEN CAST('${date1}' AS DATE) AND CAST('${date2}' AS DATE)
);

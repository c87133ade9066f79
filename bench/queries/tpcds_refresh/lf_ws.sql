-- Web orders, a row for each line.
CREATE VIEW wsv AS
SELECT
  d1.d_date_sk AS ws_sold_date_sk,
  t_time_sk AS ws_sold_time_sk,
  d2.d_date_sk AS ws_ship_date_sk,
  i_item_sk AS ws_item_sk,
  c1.c_customer_sk AS ws_bill_customer_sk,
  c1.c_current_cdemo_sk AS ws_bill_cdemo_sk,
  c1.c_current_hdemo_sk AS ws_bill_hdemo_sk,
  c1.c_current_addr_sk AS ws_bill_addr_sk,
  c2.c_customer_sk AS ws_ship_customer_sk,
  c2.c_current_cdemo_sk AS ws_ship_cdemo_sk,
  c2.c_current_hdemo_sk AS ws_ship_hdemo_sk,
  c2.c_current_addr_sk AS ws_ship_addr_sk,
  wp_web_page_sk AS ws_web_page_sk,
  web_site_sk AS ws_web_site_sk,
  sm_ship_mode_sk AS ws_ship_mode_sk,
  w_warehouse_sk AS ws_warehouse_sk,
  p_promo_sk AS ws_promo_sk,
  word_order_id AS ws_order_number,
  wlin_quantity AS ws_quantity,
  i_wholesale_cost AS ws_wholesale_cost,
  i_current_price AS ws_list_price,
  wlin_sales_price AS ws_sales_price,
  (i_current_price - wlin_sales_price) * wlin_quantity AS ws_ext_discount_amt,
  wlin_sales_price * wlin_quantity AS ws_ext_sales_price,
  i_wholesale_cost * wlin_quantity AS ws_ext_wholesale_cost,
  i_current_price * wlin_quantity AS ws_ext_list_price,
  i_current_price * web_tax_percentage AS ws_ext_tax,
  wlin_coupon_amt AS ws_coupon_amt,
  wlin_ship_cost * wlin_quantity AS ws_ext_ship_cost,
  wlin_sales_price * wlin_quantity - wlin_coupon_amt AS ws_net_paid,
  (wlin_sales_price * wlin_quantity - wlin_coupon_amt) * (1 + web_tax_percentage) AS ws_net_paid_inc_tax,
  wlin_sales_price * wlin_quantity - wlin_coupon_amt + wlin_ship_cost * wlin_quantity AS ws_net_paid_inc_ship,
  wlin_sales_price * wlin_quantity - wlin_coupon_amt + wlin_ship_cost * wlin_quantity
    + i_current_price * web_tax_percentage AS ws_net_paid_inc_ship_tax,
  wlin_sales_price * wlin_quantity - wlin_coupon_amt - wlin_quantity * i_wholesale_cost AS ws_net_profit
FROM s_web_order
LEFT OUTER JOIN date_dim d1 ON CAST(word_order_date AS DATE) = d1.d_date
LEFT OUTER JOIN time_dim ON word_order_time = t_time
LEFT OUTER JOIN customer c1 ON word_bill_customer_id = c1.c_customer_id
LEFT OUTER JOIN customer c2 ON word_ship_customer_id = c2.c_customer_id
LEFT OUTER JOIN web_site ON word_web_site_id = web_site_id AND web_rec_end_date IS NULL
LEFT OUTER JOIN ship_mode ON word_ship_mode_id = sm_ship_mode_id
JOIN s_web_order_lineitem ON word_order_id = wlin_order_id
LEFT OUTER JOIN date_dim d2 ON CAST(wlin_ship_date AS DATE) = d2.d_date
LEFT OUTER JOIN item ON wlin_item_id = i_item_id AND i_rec_end_date IS NULL
LEFT OUTER JOIN web_page ON wlin_web_page_id = wp_web_page_id AND wp_rec_end_date IS NULL
LEFT OUTER JOIN warehouse ON wlin_warehouse_id = w_warehouse_id
LEFT OUTER JOIN promotion ON wlin_promotion_id = p_promo_id;

INSERT INTO web_sales SELECT * FROM wsv;

-- Store purchases, a row for each line.
CREATE VIEW ssv AS
SELECT
  d_date_sk AS ss_sold_date_sk,
  t_time_sk AS ss_sold_time_sk,
  i_item_sk AS ss_item_sk,
  c_customer_sk AS ss_customer_sk,
  c_current_cdemo_sk AS ss_cdemo_sk,
  c_current_hdemo_sk AS ss_hdemo_sk,
  c_current_addr_sk AS ss_addr_sk,
  s_store_sk AS ss_store_sk,
  p_promo_sk AS ss_promo_sk,
  purc_purchase_id AS ss_ticket_number,
  plin_quantity AS ss_quantity,
  i_wholesale_cost AS ss_wholesale_cost,
  i_current_price AS ss_list_price,
  plin_sale_price AS ss_sales_price,
  (i_current_price - plin_sale_price) * plin_quantity AS ss_ext_discount_amt,
  plin_sale_price * plin_quantity AS ss_ext_sales_price,
  i_wholesale_cost * plin_quantity AS ss_ext_wholesale_cost,
  i_current_price * plin_quantity AS ss_ext_list_price,
  i_current_price * s_tax_precentage AS ss_ext_tax,
  plin_coupon_amt AS ss_coupon_amt,
  plin_sale_price * plin_quantity - plin_coupon_amt AS ss_net_paid,
  (plin_sale_price * plin_quantity - plin_coupon_amt) * (1 + s_tax_precentage) AS ss_net_paid_inc_tax,
  plin_sale_price * plin_quantity - plin_coupon_amt - plin_quantity * i_wholesale_cost AS ss_net_profit
FROM s_purchase
LEFT OUTER JOIN customer ON purc_customer_id = c_customer_id
LEFT OUTER JOIN store ON purc_store_id = s_store_id
LEFT OUTER JOIN date_dim ON CAST(purc_purchase_date AS DATE) = d_date
LEFT OUTER JOIN time_dim ON purc_purchase_time = t_time
JOIN s_purchase_lineitem ON purc_purchase_id = plin_purchase_id
LEFT OUTER JOIN promotion ON plin_promotion_id = p_promo_id
LEFT OUTER JOIN item ON plin_item_id = i_item_id
WHERE i_rec_end_date IS NULL AND s_rec_end_date IS NULL;

INSERT INTO store_sales SELECT * FROM ssv;

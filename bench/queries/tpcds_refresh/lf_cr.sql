-- Returns of catalog orders.
CREATE VIEW crv AS
SELECT
  d_date_sk AS cr_returned_date_sk,
  t_time_sk AS cr_returned_time_sk,
  i_item_sk AS cr_item_sk,
  c1.c_customer_sk AS cr_refunded_customer_sk,
  c1.c_current_cdemo_sk AS cr_refunded_cdemo_sk,
  c1.c_current_hdemo_sk AS cr_refunded_hdemo_sk,
  c1.c_current_addr_sk AS cr_refunded_addr_sk,
  c2.c_customer_sk AS cr_returning_customer_sk,
  c2.c_current_cdemo_sk AS cr_returning_cdemo_sk,
  c2.c_current_hdemo_sk AS cr_returning_hdemo_sk,
  c2.c_current_addr_sk AS cr_returning_addr_sk,
  cc_call_center_sk AS cr_call_center_sk,
  cp_catalog_page_sk AS cr_catalog_page_sk,
  sm_ship_mode_sk AS cr_ship_mode_sk,
  w_warehouse_sk AS cr_warehouse_sk,
  r_reason_sk AS cr_reason_sk,
  cret_order_id AS cr_order_number,
  cret_return_qty AS cr_return_quantity,
  cret_return_amt AS cr_return_amount,
  cret_return_tax AS cr_return_tax,
  cret_return_amt + cret_return_tax AS cr_return_amt_inc_tax,
  cret_return_fee AS cr_fee,
  cret_return_ship_cost AS cr_return_ship_cost,
  cret_refunded_cash AS cr_refunded_cash,
  cret_reversed_charge AS cr_reversed_charge,
  cret_merchant_credit AS cr_store_credit,
  cret_return_amt + cret_return_tax + cret_return_fee
    - cret_refunded_cash - cret_reversed_charge - cret_merchant_credit AS cr_net_loss
FROM s_catalog_returns
LEFT OUTER JOIN date_dim ON CAST(cret_return_date AS DATE) = d_date
LEFT OUTER JOIN time_dim ON CAST(substr(cret_return_time, 1, 2) AS INT) * 3600
  + CAST(substr(cret_return_time, 4, 2) AS INT) * 60 + CAST(substr(cret_return_time, 7, 2) AS INT) = t_time
LEFT OUTER JOIN item ON cret_item_id = i_item_id
LEFT OUTER JOIN customer c1 ON cret_return_customer_id = c1.c_customer_id
LEFT OUTER JOIN customer c2 ON cret_refund_customer_id = c2.c_customer_id
LEFT OUTER JOIN reason ON cret_reason_id = r_reason_id
LEFT OUTER JOIN call_center ON cret_call_center_id = cc_call_center_id
LEFT OUTER JOIN catalog_page ON cret_catalog_page_id = cp_catalog_page_id
LEFT OUTER JOIN ship_mode ON cret_shipmode_id = sm_ship_mode_id
LEFT OUTER JOIN warehouse ON cret_warehouse_id = w_warehouse_id
WHERE i_rec_end_date IS NULL AND cc_rec_end_date IS NULL;

INSERT INTO catalog_returns SELECT * FROM crv;

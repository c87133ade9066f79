-- Returns of web orders.
CREATE VIEW wrv AS
SELECT
  d_date_sk AS wr_returned_date_sk,
  t_time_sk AS wr_returned_time_sk,
  i_item_sk AS wr_item_sk,
  c1.c_customer_sk AS wr_refunded_customer_sk,
  c1.c_current_cdemo_sk AS wr_refunded_cdemo_sk,
  c1.c_current_hdemo_sk AS wr_refunded_hdemo_sk,
  c1.c_current_addr_sk AS wr_refunded_addr_sk,
  c2.c_customer_sk AS wr_returning_customer_sk,
  c2.c_current_cdemo_sk AS wr_returning_cdemo_sk,
  c2.c_current_hdemo_sk AS wr_returning_hdemo_sk,
  c2.c_current_addr_sk AS wr_returning_addr_sk,
  wp_web_page_sk AS wr_web_page_sk,
  r_reason_sk AS wr_reason_sk,
  wret_order_id AS wr_order_number,
  wret_return_qty AS wr_return_quantity,
  wret_return_amt AS wr_return_amt,
  wret_return_tax AS wr_return_tax,
  wret_return_amt + wret_return_tax AS wr_return_amt_inc_tax,
  wret_return_fee AS wr_fee,
  wret_return_ship_cost AS wr_return_ship_cost,
  wret_refunded_cash AS wr_refunded_cash,
  wret_reversed_charge AS wr_reversed_charge,
  wret_account_credit AS wr_account_credit,
  wret_return_amt + wret_return_tax + wret_return_fee
    - wret_refunded_cash - wret_reversed_charge - wret_account_credit AS wr_net_loss
FROM s_web_returns
LEFT OUTER JOIN date_dim ON CAST(wret_return_date AS DATE) = d_date
LEFT OUTER JOIN time_dim ON CAST(substr(wret_return_time, 1, 2) AS INT) * 3600
  + CAST(substr(wret_return_time, 4, 2) AS INT) * 60 + CAST(substr(wret_return_time, 7, 2) AS INT) = t_time
LEFT OUTER JOIN item ON wret_item_id = i_item_id
LEFT OUTER JOIN customer c1 ON wret_return_customer_id = c1.c_customer_id
LEFT OUTER JOIN customer c2 ON wret_refund_customer_id = c2.c_customer_id
LEFT OUTER JOIN reason ON wret_reason_id = r_reason_id
LEFT OUTER JOIN web_page ON wret_web_page_id = wp_web_page_id
WHERE i_rec_end_date IS NULL AND wp_rec_end_date IS NULL;

INSERT INTO web_returns SELECT * FROM wrv;

-- Returns to stores.
CREATE VIEW srv AS
SELECT
  d_date_sk AS sr_returned_date_sk,
  t_time_sk AS sr_return_time_sk,
  i_item_sk AS sr_item_sk,
  c_customer_sk AS sr_customer_sk,
  c_current_cdemo_sk AS sr_cdemo_sk,
  c_current_hdemo_sk AS sr_hdemo_sk,
  c_current_addr_sk AS sr_addr_sk,
  s_store_sk AS sr_store_sk,
  r_reason_sk AS sr_reason_sk,
  CAST(sret_ticket_number AS BIGINT) AS sr_ticket_number,
  sret_return_qty AS sr_return_quantity,
  sret_return_amt AS sr_return_amt,
  sret_return_tax AS sr_return_tax,
  sret_return_amt + sret_return_tax AS sr_return_amt_inc_tax,
  sret_return_fee AS sr_fee,
  sret_return_ship_cost AS sr_return_ship_cost,
  sret_refunded_cash AS sr_refunded_cash,
  sret_reversed_charge AS sr_reversed_charge,
  sret_store_credit AS sr_store_credit,
  sret_return_amt + sret_return_tax + sret_return_fee
    - sret_refunded_cash - sret_reversed_charge - sret_store_credit AS sr_net_loss
FROM s_store_returns
LEFT OUTER JOIN date_dim ON CAST(sret_return_date AS DATE) = d_date
LEFT OUTER JOIN time_dim ON CAST(substr(sret_return_time, 1, 2) AS INT) * 3600
  + CAST(substr(sret_return_time, 4, 2) AS INT) * 60 + CAST(substr(sret_return_time, 7, 2) AS INT) = t_time
LEFT OUTER JOIN item ON sret_item_id = i_item_id
LEFT OUTER JOIN customer ON sret_customer_id = c_customer_id
LEFT OUTER JOIN store ON sret_store_id = s_store_id
LEFT OUTER JOIN reason ON sret_reason_id = r_reason_id
WHERE i_rec_end_date IS NULL AND s_rec_end_date IS NULL;

INSERT INTO store_returns SELECT * FROM srv;

-- Stocks of warehouses.
CREATE VIEW iv AS
SELECT
  d_date_sk AS inv_date_sk,
  i_item_sk AS inv_item_sk,
  w_warehouse_sk AS inv_warehouse_sk,
  invn_qty_on_hand AS inv_quantity_on_hand
FROM s_inventory
LEFT OUTER JOIN warehouse ON invn_warehouse_id = w_warehouse_id
LEFT OUTER JOIN item ON invn_item_id = i_item_id AND i_rec_end_date IS NULL
LEFT OUTER JOIN date_dim ON CAST(invn_date AS DATE) = d_date;

INSERT INTO inventory SELECT * FROM iv;

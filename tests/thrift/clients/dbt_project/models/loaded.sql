{{ config(
    materialized='continuous_table',
    clauses="TRIGGER AVAILABLE NOW",
    pre_hook="CREATE STREAM IF NOT EXISTS shop.loads (n BIGINT) STORED AS JSONFILE FROM FOLDER '" ~ env_var('SHARKPY_LOADS') ~ "'"
) }}
select n, n + {{ var('added', 0) }} as more from shop.loads

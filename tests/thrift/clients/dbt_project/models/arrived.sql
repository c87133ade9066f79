{{ config(
    materialized='continuous_table',
    clauses="TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    pre_hook="CREATE STREAM IF NOT EXISTS shop.pushed (n BIGINT) FROM PROGRAM"
) }}
select n, n * 2 as twice from shop.pushed where n > 0

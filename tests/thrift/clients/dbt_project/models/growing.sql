{{ config(materialized='incremental', incremental_strategy='append', on_schema_change='append_new_columns') }}
select id, customer {% if is_incremental() %}, 7 as extra {% endif %} from {{ ref('orders') }}

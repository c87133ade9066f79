{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', file_format='iceberg', partition_by='customer') }}
select id, customer, amount, day from {{ ref('orders') }}
{% if is_incremental() %} where id >= (select max(id) from {{ this }}) {% endif %}

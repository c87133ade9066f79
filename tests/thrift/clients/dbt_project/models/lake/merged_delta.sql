{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', file_format='delta') }}
select id, customer, amount, day from {{ ref('orders') }}
{% if is_incremental() %} where id >= (select max(id) from {{ this }}) {% endif %}

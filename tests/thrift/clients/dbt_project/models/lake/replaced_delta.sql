{{ config(materialized='table', file_format='delta') }}
select customer, count(*) as orders from {{ ref('merged_delta') }} group by customer

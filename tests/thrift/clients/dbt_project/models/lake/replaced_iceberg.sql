{{ config(materialized='table', file_format='iceberg') }}
select customer, count(*) as orders from {{ ref('merged_iceberg') }} group by customer

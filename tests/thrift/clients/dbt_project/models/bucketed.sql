{{ config(materialized='table', tblproperties={'shark.cache': 'true'}, clustered_by='id', buckets=2) }}
select id, customer from {{ ref('orders') }}

{{ config(materialized='view') }}
select id, customer, cast(amount as double) as amount, day
from {{ source('raw', 'orders') }}
where amount >= 10

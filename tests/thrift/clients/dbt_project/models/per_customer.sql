{{ config(materialized='table') }}
with sums as (
    select customer, count(*) as orders, sum(cast(amount as double)) as total
    from {{ ref('orders') }}
    group by customer
)
select s.customer, c.city, s.orders, s.total, case when s.total >= 15 then 'large' else 'small' end as size
from sums s
join {{ ref('customers') }} c on c.name = s.customer

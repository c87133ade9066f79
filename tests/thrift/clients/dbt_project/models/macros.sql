{% set start, finish = "cast(day as timestamp)", "cast('2024-05-01' as timestamp)" %}
select
    id,
    {{ dbt.dateadd('day', 3, start) }} as later,
    {{ dbt.datediff(start, finish, 'day') }} as days,
    {{ dbt.datediff(start, finish, 'month') }} as months,
    {{ dbt.date_trunc('month', 'day') }} as month,
    {{ dbt.last_day('day', 'month') }} as last_day,
    {{ dbt.split_part("'a-b-c'", "'-'", 2) }} as part,
    {{ dbt.hash('customer') }} as hash,
    {{ dbt.concat(["customer", "'x'"]) }} as joined,
    {{ dbt.safe_cast("'7'", "int") }} as seven,
    {{ dbt.position("'d'", "customer") }} as place,
    {{ dbt.right("customer", 2) }} as ending
from {{ ref('orders') }}

{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['day']) }}
select count(*) as orders, cast(day as string) as day
from {{ ref('orders') }}
{% if is_incremental() %}
where cast(day as string) >= (select max(day) from {{ this }})
{% endif %}
group by day

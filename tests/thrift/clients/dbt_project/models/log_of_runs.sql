{{ config(materialized='incremental', incremental_strategy='append') }}
select '{{ invocation_id }}' as run, count(*) as customers
from {{ ref('per_customer') }}

{{ config(materialized='ephemeral') }}
select * from {{ ref('big_orders') }} where customer = 'bob'

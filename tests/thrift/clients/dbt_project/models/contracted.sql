{{ config(materialized='table', contract={'enforced': true}) }}
select cast(id as bigint) as id, customer from {{ ref('orders') }}

{{ config(materialized='incremental', incremental_strategy='merge', unique_key=['id', 'customer'], file_format='delta',
          merge_exclude_columns=['day'], on_schema_change='append_new_columns', partition_by=['customer']) }}
select id, customer, amount, day {% if is_incremental() %}, 7 as extra {% endif %} from {{ ref('orders') }}

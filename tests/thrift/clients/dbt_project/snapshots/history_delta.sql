{% snapshot history_delta %}
{{ config(strategy='check', unique_key='id', check_cols=['customer', 'amount'], file_format='delta', hard_deletes='invalidate') }}
select id, customer, amount from {{ ref('orders') }}
{% endsnapshot %}

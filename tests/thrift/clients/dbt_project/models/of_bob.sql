select sum(amount) as amount from {{ ref('only_here') }}

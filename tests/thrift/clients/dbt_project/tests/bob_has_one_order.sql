select * from {{ ref('of_bob') }} where amount <> 20

"""How subqueries become joins: pulling conditions up, or pushing the domain of outer values down."""

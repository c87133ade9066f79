"""New texts of a query: an engine has not seen the text, but its work is the same."""

from __future__ import annotations

import sqlglot
from sqlglot.tokens import TokenType

_AFTER_WHERE = (
    *(TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.WINDOW),
    *(TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.SORT_BY),
    *(TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT),
)


def new_text(sql: str, number: int) -> str:
    """The query with `number = number` as the first condition of its outermost WHERE, so also in its syntax tree and in
    its bound plan. The optimizers of all engines fold the condition.
    """
    condition, depth = f"{number} = {number}", 0
    for token in sqlglot.tokenize(sql, read="hive"):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0 and token.token_type == TokenType.WHERE:
            return f"{sql[: token.end + 1]} {condition} AND{sql[token.end + 1 :]}"
        if depth == 0 and token.token_type in _AFTER_WHERE:
            return f"{sql[: token.start]}WHERE {condition}\n{sql[token.start :]}"
    return f"{sql}\nWHERE {condition}"

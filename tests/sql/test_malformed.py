"""Nothing malformed is accepted: every clause with something missing, doubled, unknown or left over."""

from __future__ import annotations

import pytest

from sharkpy.base.errors import ParseError, SharkError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.sql.binder import bind
from tests.sql.memory_catalog import make_catalog

_CATALOG = make_catalog()

# One statement a line.
_SELECT_LISTS = """
select from t
select a,, b from t
select , a from t
select a, from t
select a b c from t
select a as from t
select a as 5 from t
select a as 'x' 'y' from t
select distinct from t
select distinct distinct a from t
select all distinct a from t
select distinct on (a) b from t
select top 3 a from t
select * except from t
select * except () from t
select * except a from t
select * replace (1 as a) from t
select t.* rename (a as x) from t
select a into x from t
select a from t select a from t
select a from t from t
select .a from t
select t..a from t
"""
_STREAMS = """
create stream z
create stream z (a int)
create stream z (a int) from
create stream z (a int) from folder
create stream z (a int) from folder x
create stream z (a int) from nowhere '/x'
create stream z (a int) from kafka ('topic')
create stream z (a int) from kafka ('topic' = )
create stream z (a int) from table
create continuous
create continuous table
create continuous view z as select a from clicks
create continuous table z
create continuous table z as
create continuous table z as select a from
create continuous table z trigger as select a from clicks
create continuous table z trigger every as select a from clicks
create continuous table z trigger every 5 as select a from clicks
create continuous table z trigger every -5 seconds as select a from clicks
create continuous table z trigger every five seconds as select a from clicks
create continuous table z trigger available as select a from clicks
create continuous table z emit as select a from clicks
create continuous table z emit later as select a from clicks
create continuous table z on bad row as select a from clicks
create continuous table z on bad row skip as select a from clicks
create continuous table z start from as select a from clicks
create continuous insert z as
create continuous insert z as select a from clicks
create continuous sink z as select a from clicks
create continuous sink z to as select a from clicks
create continuous sink z to folder as select a from clicks
create continuous sink z to nowhere '/x' as select a from clicks
create continuous sink z to kafka ('topic' = 'x' as select a from clicks
create continuous sink z to program stored as parquet as select a from clicks
create streaming table z as select a from stream() x
pause continuous
pause clicks
resume continuous table
rollback continuous table
show epochs
"""
_EXPRESSIONS = """
select 1 +
select 1 <<
select 1 >> > 2
select 1 > > 2
select 1 & & 2
select + from t
select 1 % % 2
select (1
select 1)
select ((a) from t
select ()
select not
select a not from t
select a is from t
select a is not from t
select a is 5 from t
select a between 2 from t
select a between and 2 from t
select a between 1 and from t
select a in
select a in ()
select a in (1,)
select a in (1 2) from t
select a like from t
select b like any from t
select b like all () from t
select b rlike from t
select b like 'a' escape from t
select b like 'a' escape 5 from t
select case end from t
select case when then 1 end from t
select case when a = 1 then 2 from t
select case when a = 1 2 end from t
select case 1 else 2 end from t
select case a when 1 then end from t
select cast(a as) from t
select cast(a int) from t
select cast(a as int int) from t
select cast(as int) from t
select a::
select a !> 1 from t
select a = = 1 from t
select a ~ 'x' from t
select b similar to 'x' from t
select b glob 'x' from t
select b ilike from t
select b collate utf8 from t
select d at time zone 'UTC' from t
select map('a' 1)
select array(1 2)
select array[1, 2]
select [1, 2]
select {1, 2}
select items[ from n
select items[] from n
select items[1 from n
select items[1, 2] from n
select items[1:2] from n
select 0x1F
select 1e
select 1.5e+
select timestamp with local time zone '2020-01-01 00:00:00'
select 12abc.5
select X'1'
select X'GG'
select 'abc
select "abc
select `abc
select /* open
select “a” from t
select ‘a’ from t
select a – 1 from t
select 1 ；
select @a
select :a
select ?
select $a
select #a
select a |> b from t
select interval 1
select interval '1' fortnight
select interval 1 day to
select interval 1 foo
select extract(year d) from t
select extract(from d) from t
select count( from t
select count(a from t
select count(distinct) from t
select count(a,) from t
select transform(items, x -> ) from n
select transform(items, -> x) from n
select transform(items, (x,) -> x) from n
select transform(items, (x y) -> x) from n
select transform(items, () -> 1) from n
"""
_WINDOWS = """
select sum(a) over from t
select sum(a) over ( from t
select sum(a) over (partition a) from t
select sum(a) over (partition by) from t
select sum(a) over (partition by a,) from t
select sum(a) over (order by) from t
select sum(a) over (order a) from t
select sum(a) over (rows) from t
select sum(a) over (rows unbounded) from t
select sum(a) over (rows between 1 and 2) from t
select sum(a) over (order by a rows between unbounded preceding) from t
select sum(a) over (order by a rows unbounded preceding and current row) from t
select sum(a) over (order by a rows between 1 preceding and) from t
select sum(a) over (order by a rows unbounded preceding exclude ties) from t
select sum(a) over w from t window
select sum(a) over w from t window w
select sum(a) over w from t window w as
select sum(a) over w from t window w as (
select sum(a) over w from t window w (partition by a)
select sum(a) filter (a > 1) from t
select sum(a) filter (where) from t
select sum(a) filter (where a > 1 from t
"""
_RELATIONS = """
from t
from t select
select a from
select a from t as
select a from t as t2 t3
select a from t t2 t3
select a from t,
select a from , t
select a from t,, u
select a from (select a from t
select a from (t
select a from ()
select a from t join
select a from t join u on
select a from t join u on t.a = u.a on t.a = u.a
select a from t join u using
select a from t join u using ()
select a from t join u using (a,)
select a from t join u using (a) on t.a = u.a
select a from t inner left join u on t.a = u.a
select a from t left semi outer join u on t.a = u.a
select a from t left u
select a from t join join u
select a from t cross apply u
select a from t asof join u on t.a = u.a
select a from uniquejoin preserve t a (a.a), preserve u b (b.a)
select k from n lateral view
select k from n lateral explode(items) e as i
select k from n lateral view explode(items)
select k from n lateral view explode(items) e as
select k from n lateral view explode(items) e as i,
select k from n lateral view outer explode(items e as i
select * from read_csv()
select * from read_csv(1)
select * from read_csv([])
select * from read_csv('x.csv', 1)
select * from read_csv('x.csv', header =)
select * from read_csv('x.csv', header = a)
select * from read_csv('x.csv', columns = {})
select * from read_csv('x.csv', columns = {a:'INT'})
select * from read_csv('x.csv', columns = {'a': INT})
select * from read_csv('x.csv', columns = ['INT'])
select * from read_csv('x.csv', types = 'INT')
select * from read_csv('x.csv', types = {'a': 'INT', 'A': 'INT'})
select * from read_csv('x.csv', types = map('a'))
select * from read_csv('x.csv', names = [1])
select * from read_csv('x.csv', names = [''])
select * from read_csv('x.csv', names = ['a'], column_names = ['b'])
select * from read_csv('x.csv', columns = {'a': 'INT'}, types = {'a': 'INT'})
select * from csv.`x.csv` options ()
select * from csv.`x.csv` options (header =)
select * from csv.`x.csv` options (header = true
select * from csv.`x.csv` options (header = true,)
select * from csv.`x.csv` options (header = true sep = ';')
select a from t tablesample
select a from t tablesample ()
select a from t tablesample 10 rows
select a from t tablesample (10)
select a from t tablesample (rows)
select a from t tablesample (1.5 rows)
select a from t tablesample (-1 rows)
select a from t tablesample (10 rows
select a from t tablesample (10 rows) tablesample (5 rows)
select a from t tablesample (10X)
select a from t tablesample (bucket 1 of 2)
select a from t tablesample (bucket 1 out of)
select a from t tablesample (bucket out of 2)
select a from t tablesample (bucket 1 out of 2 on)
select a from t tablesample (10 percent) repeatable
select a from t tablesample (10 percent) repeatable ('x')
select a from t tablesample bernoulli (10)
select a from t pivot
select a from t pivot (sum(a))
select a from t pivot (sum(a) for b)
select a from t pivot (sum(a) for b in ())
select a from t pivot (sum(a) b in (1))
select a from t unpivot (v in (a))
select a from t unpivot (v for n in ())
select a from t for system_time as of
select a from t for system_version as of
select a from t for system_version of 1
select a from t version as of
select a from values (1),
select a from values () as t(a)
select a from t match_recognize (pattern (x))
select a from t connect by a = 1
select a from t start with a = 1
select a from t prewhere a = 1
select a from t with (nolock)
"""
_CLAUSES = """
select a from t where
select a from t where and a = 1
select a from t where a = 1 and
select a from t where a = 1 or or a = 2
select a from t where a = 1 where a = 2
select a from t where (a = 1
select a from t where a = 1)
select a from t where exists select 1
select a from t group by
select a from t group a
select a from t group by a,
select a from t group by a group by b
select a from t group by a with
select a from t group by a with foo
select a from t group by a grouping sets
select a from t group by a grouping sets (
select a from t group by a grouping sets ()
select a from t group by rollup
select a from t group by cube a
select a from t having
select a from t group by a having having a > 1
select a from t qualify
select a from t order by
select a from t order a
select a from t order by a,
select a from t order by a asc desc
select a from t order by (a asc, )
select a from t order by (a asc
select a from t order by (a asc, b) desc
select a from t order by a nulls
select a from t order by a nulls second
select a from t order by a order by b
select a from t order by a with fill
select a from t sort by
select a from t distribute by
select a from t cluster by
select a from t cluster by a,
select a from t limit
select a from t limit 1 limit 2
select a from t limit 1,
select a from t limit 1 with ties
select a from t limit 10 percent
select a from t offset
select a from t fetch first 1 rows
select a from t fetch 1 rows only
select a from t limit 1 fetch first row only
table
table t u
select a from t where a in (values)
select a from t for update
select a from t limit 1 select 2
select a from t where a = 1 group
select a from t foo bar baz
"""
_GENERATE = """
generate
generate kmeans
generate (t)
generate 'kmeans'(t)
generate kmeans t
generate kmeans(
generate kmeans(t
generate kmeans(t, 3
generate kmeans(,t)
generate kmeans(t,)
generate kmeans(t,, 3)
generate kmeans(t 3)
generate kmeans(t as x)
generate kmeans(select a from t)
generate kmeans((select a from t)
generate kmeans((select a from))
generate kmeans(t, n_clusters =>)
generate kmeans(t, => 3)
generate kmeans(t, 'n_clusters' => 3)
generate kmeans(t, n_clusters => => 3)
generate kmeans(n_clusters => 3, t)
generate kmeans(t, *)
generate kmeans(t, 1 +)
generate kmeans(t) as
generate kmeans(t) as table
generate kmeans(t) table z
generate kmeans(t) z
generate kmeans(t) as z as y
generate kmeans(t) as 'z'
generate kmeans(t) as a.b.c
generate kmeans(t) as table z select 1
generate kmeans(t)(t)
"""
_SETS_AND_WITH = """
select a from t union
select a from t union all
select a from t union all all select a from u
select a from t union distinct all select a from u
select a from t union select
union select a from t
select a from t intersect
select a from t except
select a from t minus minus select a from u
(select a from t
(select a from t) union
(select a from t))
with
with select 1
with x select 1
with x as select 1
with x as (select 1)
with x as (select 1), select 1
with x as () select 1
with x as (select 1) y as (select 2) select 1
with as (select 1) select 1
with x () as (select 1) select 1
with x as (values) select 1
select 1;; select 2
"""
_SIGNS = """
select id$v2 from t
select a$x from t
select a $ x from t
select a@x from t
select a? from t
select a: b from t
select 1:x from t
select b:['x y'] from t
select b:[ from t
select b:a. from t
select :a from t
select ? from t
select 'a'x from t
select `a`x from t
select a`x` from t
select * from t@1
select * from t@x1
select * from t@ v1
select * from t@v1x
select * from t $x
select * from t$ x
select * from t?
select * from t:x
select * from t`x`
select * from (select a from t) $x
select * from t*
select * from t * x
select * from .t
"""
_STATEMENTS = tuple(
    line
    for group in (
        *(_SIGNS, _SELECT_LISTS, _EXPRESSIONS, _WINDOWS, _RELATIONS),
        *(_CLAUSES, _GENERATE, _SETS_AND_WITH, _STREAMS),
    )
    for line in group.strip().splitlines()
)


@pytest.mark.variants(3)
@pytest.mark.parametrize("text", _STATEMENTS)
def test_malformed_statements_are_refused_at_their_place(text: str) -> None:
    with pytest.raises((ParseError, UnsupportedError)) as caught:
        bind(text, _CATALOG, Conf(), "default")
    assert caught.value.line == 1
    assert caught.value.column is not None
    assert 1 <= caught.value.column <= len(text) + 1
    assert "\n" not in str(caught.value)


_SIGNED = ("select a{}x from t", "select a {}x from t", "select 1.5{}x", "select abs(a){}x from t")
_SIGNED_TABLES = ("select a from t{}x", "select a from t {} x", "select a from (select a from t){}x")
_NO_SIGNS = "._`\"',;#-"
"""Signs that join names, begin another name or a comment, or end."""


@pytest.mark.parametrize("form", [*_SIGNED, *_SIGNED_TABLES])
def test_no_sign_makes_an_alias(form: str) -> None:
    """Whatever sign is between a value or table and a name, the name is its alias only after a blank."""
    for code in range(0x80):
        sign = chr(code)
        if sign.isspace() or sign.isalnum() or sign in _NO_SIGNS:
            continue
        try:
            plan = bind(form.format(sign), _CATALOG, Conf(), "default")
        except SharkError:
            continue
        assert "x" not in [column.name for column in plan.output], repr(sign)
        assert sign in ":%&*+/<=>^|!~(", repr(sign)


def test_there_are_enough_of_them() -> None:
    assert len(set(_STATEMENTS)) == len(_STATEMENTS) > 200

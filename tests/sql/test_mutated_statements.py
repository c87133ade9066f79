"""Valid statements with tokens left out, doubled, swapped or replaced: each binds or gives an error of ours."""

from __future__ import annotations

import random

import pytest

from sharkpy.base.errors import InternalError, SharkError
from sharkpy.base.settings import Conf
from sharkpy.sql.binder import bind
from sharkpy.sql.grammar.parser import tokenize
from tests.sql.memory_catalog import make_catalog

_CATALOG = make_catalog()
_MUTANTS = 80
"""Mutants of each statement."""

_VALID = """
select t.a, b as x, count(*) c from t where a in (1, 2) and b like 'x%' group by t.a, b having count(*) > 1 order by c
select * from t tablesample (10 percent) repeatable (3) s join u tablesample (bucket 1 out of 2 on a) v on s.a = v.a
select a, d from t order by (d desc, a nulls last)
select a, sum(c) over (partition by b order by d desc rows between 1 preceding and current row) from t
select a, sum(c) over w from t window w as (partition by b order by d) order by a nulls last limit 3 offset 1
with x (p) as (select a from t), y as (select p from x) select * from y union all select x from u except select 1
select k, i, m from n lateral view outer explode(items) e as i lateral view posexplode(tags) f as p, m, v
select case when a > 1 then 'x' when a between 2 and 3 then 'y' else null end, case a when 1 then 2 end from t
select transform(items, (x, i) -> x + i), filter(items, x -> x > k), aggregate(items, 0, (s, x) -> s + x) from n
select * from (select a, b, c from t) pivot (sum(c) as s, count(*) for b in ('x' as x1, 'y')) p
select * from t unpivot include nulls (v for name in (a as first, e)) q where q.v is not null
select a, b, grouping__id, grouping(a) from t group by a, b grouping sets ((a, b), (a), ())
select a from t where exists (select 1 from u where u.a = t.a) and a not in (select x from u) or (a, b) in ((1, 'x'))
select date '2020-01-01' + interval '1' day, d - interval 2 months, interval '1-2' year to month from t
select cast(a as decimal(10, 2)), -1Y, 2L, 1.5BD, x'41', 'a' 'b', "c", `a`, s.g.h from u
from t select distinct a, b where a <=> 1 and b rlike '^x' cluster by a
select a << 2 | a >> 1 & a >>> 3 ^ 1, first(b) ignore nulls, last(b ignore nulls) filter (where a > 1) from t group by a
select a, row_number() over (order by a) r from t qualify r <= 2 and max(c) over () > 1
select * except (a) from t left semi join u on (t.a = u.a) natural join n cross join (values (1, 'x')) as w (i, j)
select count(distinct a, b), sum(c) filter (where a > 1), percentile(a, array(0.5)) from t group by all order by all
values (1, 'a'), (2, 'b') order by col1 limit all
select b:x.y[0]['z'].w, t.b:`v`, b:[1][*] from t
select b like any ('a%', 'b%'), b not like all ('x'), b like '50!%' escape '!', a is distinct from 1 from t
select /*+ mapjoin(u), streamtable(t) */ t.a from t right outer join u using (a) sort by a distribute by a
insert into t select a, cast(x as string), 1.0, null, null from u
create table z stored as parquet as select a, b from t where a = 1
generate kmeans((select c, a from t where a > 1), 3, features => array('c', 'a'), model => 'm') as table other.z
create stream if not exists z (a int) stored as jsonfile from kafka ('bootstrap.servers' = 'h:1', 'topic' = 'x')
create stream z (a int) comment 'c' tblproperties ('stream.new.columns' = 'stop') from folder '/x' ('settle.ms' = '5')
create continuous table z partitioned by (b) trigger every 5 seconds on bad row skip to y as select a, b from clicks
create continuous table z start from table t then stream visits from latest as select a, b, 1 as k from visits
create continuous insert z trigger once as from clicks insert into other.t select a insert into other.t select 1
create continuous sink z to kafka ('bootstrap.servers' = 'h:1', 'topic' = 'x') trigger once as select * from clicks
create continuous sink z to folder '/y' stored as orc as select i from clicks lateral view explode(items) e as i
create streaming table z as select c.a, t.b from stream(clicks) c join t on c.a = t.a emit changes
select * from range(1, 10, 2) r join explode(array(1, 2)) as e (x) on r.id = e.x
""".strip().splitlines()


def _pieces(text: str) -> list[str]:
    return [text[token.start : token.end + 1] for token in tokenize(text)]


def _mutated(pieces: list[str], others: list[str], choice: random.Random) -> str:
    mutant = list(pieces)
    for _ in range(choice.randint(1, 3)):
        place = choice.randrange(len(mutant))
        match choice.randrange(5):
            case 0 if len(mutant) > 1:
                del mutant[place]
            case 1:
                mutant.insert(place, mutant[place])
            case 2:
                other = choice.randrange(len(mutant))
                mutant[place], mutant[other] = mutant[other], mutant[place]
            case 3:
                mutant[place] = choice.choice(others)
            case _:
                mutant.insert(place, choice.choice(others))
    return " ".join(mutant)


@pytest.mark.parametrize("text", _VALID)
def test_valid_statements_bind(text: str) -> None:
    assert bind(text, _CATALOG, Conf(), "default")


@pytest.mark.variants(3)
@pytest.mark.parametrize("number", range(len(_VALID)))
def test_mutants_give_errors_of_ours(number: int) -> None:
    choice = random.Random(number)
    pieces = _pieces(_VALID[number])
    others = [piece for text in _VALID for piece in _pieces(text)]
    for _ in range(_MUTANTS):
        mutant = _mutated(pieces, others, choice)
        try:
            bind(mutant, _CATALOG, Conf(), "default")
        except InternalError as error:
            raise AssertionError(mutant) from error
        except SharkError as error:
            assert "\n" not in str(error), mutant  # noqa: PT017  some mutants are valid
        except Exception as error:
            raise AssertionError(mutant) from error

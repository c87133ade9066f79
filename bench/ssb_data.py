"""Tables of the Star Schema Benchmark (O'Neil, O'Neil and Chen, revision 3, 2009), seeded: scale 1 is 6 M rows of
`lineorder`. Values are spread evenly, as the paper's filter factors assume.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.bigdata_data import write_batches

LINES, CUSTOMERS, SUPPLIERS, PARTS, BATCH = 6_000_000, 30_000, 2_000, 200_000, 500_000
CITIES, BRANDS = 250, 1000
CITY = 191
"""UNITED KI1. The first order comes from there in December 1997: q3.4 selects 5 rows of 6 M, and none of few rows."""
FIRST_DAY, LAST_DAY, LAST_ORDER = (np.datetime64(day) for day in ("1992-01-01", "1998-12-31", "1998-08-02"))

Rng = np.random.Generator
NATIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SEASONS = ("Winter", *("Spring",) * 3, *("Summer",) * 3, *("Fall",) * 3, *("Christmas",) * 2)
COLORS = ("almond", "azure", "beige", "blue", "brown", "coral", "cyan", "forest", "green", "ivory", "khaki", "olive")
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
TYPES = [f"{size} {finish} {metal}" for size in ("ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD")
         for finish in ("ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED")
         for metal in ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN")]  # fmt: skip
CONTAINERS = [f"{size} {kind}" for size in ("JUMBO", "LG", "MED", "SM", "WRAP")
              for kind in ("BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG")]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of the tables that `lineorder` refers to; even a small scale has each city and each brand."""

    customers: int
    suppliers: int
    parts: int


def write_ssb(folder: Path, scale: float) -> None:
    growth = 1 + math.floor(math.log2(scale)) if scale >= 1 else scale
    sizes = Sizes(
        max(int(CUSTOMERS * scale), 2 * CITIES), max(int(SUPPLIERS * scale), CITIES), max(int(PARTS * growth), BRANDS)
    )
    cities = {"c": _cities(np.random.default_rng(1), sizes.customers)}
    cities["s"] = _cities(np.random.default_rng(2), sizes.suppliers)
    customer = _places("c", "cust", "Customer", cities["c"]) | _choices(3, sizes.customers, c_mktsegment=SEGMENTS)
    tables = {
        "customer": customer,
        "supplier": _places("s", "supp", "Supplier", cities["s"]),
        "part": _parts(sizes.parts),
        "date": _dates(),
    }
    for name, columns in tables.items():
        write_batches(folder / name / f"{name}.parquet", iter([pa.table(columns)]))
    lines = _lines(max(int(LINES * scale), 10_000), sizes, cities)
    write_batches(folder / "lineorder" / "lineorder.parquet", lines)


def _cities(rng: Rng, size: int) -> np.ndarray:
    """A city's number for each key: each city has the same share."""
    return rng.permutation(np.arange(size) % CITIES)


def _places(prefix: str, key: str, word: str, cities: np.ndarray) -> dict[str, pa.Array]:
    """Columns of customers or suppliers. A nation has ten cities, named by its first nine letters and a digit."""
    nations = [nation for some in NATIONS.values() for nation in some]
    names = [f"{nation:<9.9}{digit}" for nation in nations for digit in range(10)]
    rng, keys = np.random.default_rng(len(cities)), np.arange(1, len(cities) + 1)
    phones = [pa.array(rng.integers(low, 10 * low, len(keys))).cast(pa.string()) for low in (100, 100, 1000)]
    country = pa.array(cities // 10 + 10).cast(pa.string())
    return {
        f"{prefix}_{key}key": pa.array(keys.astype(np.int32)),
        f"{prefix}_name": pc.binary_join_element_wise(f"{word}#", _padded(keys, 9), ""),
        f"{prefix}_address": pc.binary_join_element_wise("Street ", _padded(rng.integers(0, 10**9, len(keys)), 9), ""),
        f"{prefix}_city": _taken(names, cities),
        f"{prefix}_nation": _taken(nations, cities // 10),
        f"{prefix}_region": _taken(list(NATIONS), cities // 50),
        f"{prefix}_phone": pc.binary_join_element_wise(country, *phones, "-"),
    }


def _parts(size: int) -> dict[str, pa.Array]:
    """Five makers have five categories each, and a category has 40 brands."""
    rng = np.random.default_rng(4)
    brands = rng.permutation(np.arange(size) % BRANDS)
    categories = [f"MFGR#{maker}{category}" for maker in range(1, 6) for category in range(1, 6)]
    names = [f"{category}{brand}" for category in categories for brand in range(1, 41)]
    return {
        "p_partkey": pa.array(np.arange(1, size + 1, dtype=np.int32)),
        **_choices(5, size, p_name=[f"{one} {other}" for one in COLORS for other in COLORS if one != other]),
        "p_mfgr": _taken([f"MFGR#{maker}" for maker in range(1, 6)], brands // 200),
        "p_category": _taken(categories, brands // 40),
        "p_brand1": _taken(names, brands),
        **_choices(6, size, p_color=COLORS, p_type=TYPES),
        "p_size": pa.array(rng.integers(1, 51, size, dtype=np.int32)),
        **_choices(7, size, p_container=CONTAINERS),
    }


def _dates() -> dict[str, pa.Array]:
    days = [day.item() for day in np.arange(FIRST_DAY, LAST_DAY + 1)]
    nights = [after.item() for after in np.arange(FIRST_DAY + 1, LAST_DAY + 2)]
    numbers = {
        "d_datekey": [day.year * 10_000 + day.month * 100 + day.day for day in days],
        "d_year": [day.year for day in days],
        "d_yearmonthnum": [day.year * 100 + day.month for day in days],
        "d_daynuminweek": [day.isoweekday() for day in days],
        "d_daynuminmonth": [day.day for day in days],
        "d_daynuminyear": [day.timetuple().tm_yday for day in days],
        "d_monthnuminyear": [day.month for day in days],
        "d_weeknuminyear": [(day.timetuple().tm_yday - 1) // 7 + 1 for day in days],
        "d_lastdayinweekfl": [int(day.isoweekday() == 7) for day in days],
        "d_lastdayinmonthfl": [int(after.day == 1) for after in nights],
        "d_holidayfl": [int((day.month, day.day) in ((1, 1), (7, 4), (12, 25))) for day in days],
        "d_weekdayfl": [int(day.isoweekday() < 6) for day in days],
    }
    texts = {
        "d_date": [f"{MONTHS[day.month - 1]} {day.day}, {day.year}" for day in days],
        "d_dayofweek": [WEEKDAYS[day.weekday()] for day in days],
        "d_month": [MONTHS[day.month - 1] for day in days],
        "d_yearmonth": [f"{MONTHS[day.month - 1][:3]}{day.year}" for day in days],
        "d_sellingseason": [SEASONS[day.month - 1] for day in days],
    }
    return {name: pa.array(values, pa.int32()) for name, values in numbers.items()} | {
        name: pa.array(values) for name, values in texts.items()
    }


def _lines(rows: int, sizes: Sizes, cities: dict[str, np.ndarray]) -> Iterator[pa.Table]:
    """Rows in batches; an order has one to seven lines. The orders of a batch are drawn before its lines."""
    rng, first_order = np.random.default_rng(8), 1
    num_days = int((LAST_ORDER - FIRST_DAY).astype(int)) + 1
    for start in range(0, rows, BATCH):
        size = min(BATCH, rows - start)
        counts = rng.integers(1, 8, size)
        orders = np.repeat(np.arange(size), counts)[:size]
        numbers = np.arange(size) - (np.cumsum(counts) - counts)[orders] + 1
        customers = rng.integers(1, sizes.customers + 1, size)
        suppliers = rng.integers(1, sizes.suppliers + 1, size)
        days = FIRST_DAY + rng.integers(0, num_days, size)
        if start == 0:
            customers[0], suppliers[0] = (int(np.argmax(cities[side] == CITY)) + 1 for side in "cs")
            days[0] = np.datetime64("1997-12-15")
        keys = {
            "lo_orderkey": (first_order + orders).astype(np.int64),
            "lo_linenumber": numbers.astype(np.int32),
            "lo_custkey": customers[orders].astype(np.int32),
            "lo_partkey": rng.integers(1, sizes.parts + 1, size, dtype=np.int32),
            "lo_suppkey": suppliers.astype(np.int32),
            "lo_orderdate": _date_keys(days[orders]),
        }
        priorities = _taken(PRIORITIES, rng.integers(0, len(PRIORITIES), size)[orders])
        yield pa.table({**keys, "lo_orderpriority": priorities, **_amounts(rng, orders, keys["lo_partkey"], days)})
        first_order += int(orders[-1]) + 1


def _amounts(rng: Rng, orders: np.ndarray, parts: np.ndarray, days: np.ndarray) -> dict[str, object]:
    """Amounts in cents, with TPC-H's retail price of a part."""
    size = len(orders)
    quantities, discounts = rng.integers(1, 51, size), rng.integers(0, 11, size)
    prices = 90_000 + parts // 10 % 20_001 + 100 * (parts.astype(np.int64) % 1000)
    extended = quantities * prices
    totals = np.bincount(orders, extended).astype(np.int64)[orders]
    numbers = {
        "lo_shippriority": np.zeros(size),
        "lo_quantity": quantities,
        "lo_extendedprice": extended,
        "lo_ordtotalprice": totals,
        "lo_discount": discounts,
        "lo_revenue": extended * (100 - discounts) // 100,
        "lo_supplycost": 6 * prices // 10,
        "lo_tax": rng.integers(0, 9, size),
        "lo_commitdate": _date_keys(days[orders] + rng.integers(30, 91, size)),
    }
    columns: dict[str, object] = {name: values.astype(np.int32) for name, values in numbers.items()}
    return columns | {"lo_shipmode": _taken(MODES, rng.integers(0, len(MODES), size))}


def _date_keys(days: np.ndarray) -> np.ndarray:
    months = days.astype("datetime64[M]")
    month, day = months.astype(int), (days - months).astype(int) + 1
    return ((1970 + month // 12) * 10_000 + (month % 12 + 1) * 100 + day).astype(np.int32)


def _choices(seed: int, size: int, **texts: Sequence[str]) -> dict[str, pa.Array]:
    """Columns by name, each of random texts."""
    rng = np.random.default_rng(seed)
    return {name: _taken(some, rng.integers(0, len(some), size)) for name, some in texts.items()}


def _taken(texts: Sequence[str], places: np.ndarray) -> pa.Array:
    return pa.array(texts).take(pa.array(places))


def _padded(numbers: np.ndarray, digits: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), digits, "0")

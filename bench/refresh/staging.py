"""Staging data of a refresh, seeded: orders, returns and stocks that name the rows of existing dimensions.

Each table is a Parquet file with the columns of the specification's staging schema, without comments. A few of the
names are NULL, and a few name no row.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PURCHASES, CATALOG_ORDERS, WEB_ORDERS, LEAST = 1000, 500, 60, 50
"""Orders of a refresh at scale 1, and of one at any scale."""
LINES, RETURNED, NULLS, UNKNOWN = 12, 0.1, 0.02, 0.01
"""Lines of an order; shares of lines that come back, of names that are NULL, and of names without a row."""
_NAMES = {
    "call_center": ("cc_call_center_id", "cc_rec_end_date"),
    "catalog_page": ("cp_catalog_page_id", None),
    "customer": ("c_customer_id", None),
    "item": ("i_item_id", "i_rec_end_date"),
    "promotion": ("p_promo_id", None),
    "reason": ("r_reason_id", None),
    "ship_mode": ("sm_ship_mode_id", None),
    "store": ("s_store_id", "s_rec_end_date"),
    "warehouse": ("w_warehouse_id", None),
    "web_page": ("wp_web_page_id", "wp_rec_end_date"),
    "web_site": ("web_site_id", "web_rec_end_date"),
}
"""Dimension -> its column of names, and the one that is NULL in the row that is current."""
_NO_ROW = "AAAAAAAAZZZZZZZZ"
_FIRST_DAY, _DAYS = datetime.date(1998, 1, 1), 5 * 365
"""Days of sales."""
_NEW_ORDERS = 1_000_000_000
"""Orders of the refresh `seed` have numbers from `seed` times this."""

Dates = tuple[str, str]
"""First and last day of a range."""


@dataclass(frozen=True, slots=True)
class DeletedDates:
    """Ranges of dates whose rows a refresh deletes: three of sales, three of stocks."""

    sales: tuple[Dates, ...]
    stocks: tuple[Dates, ...]


def write_staging(data: Path, folder: Path, scale: float, seed: int) -> DeletedDates:
    """Write the staging tables of the refresh `seed` to `folder`/<table>.parquet; `data` has folders of dimensions."""
    made = _Staging(data, seed)
    number = seed * _NEW_ORDERS
    tables: dict[str, Mapping[str, pa.Array]] = {}
    for channel, count in (("store", PURCHASES), ("catalog", CATALOG_ORDERS), ("web", WEB_ORDERS)):
        orders = np.arange(number, number + max(int(count * scale), LEAST))
        lines = np.repeat(orders, LINES)
        returned = made.rng.permutation(len(lines))[: int(len(lines) * RETURNED)]
        items = made.names("item", len(lines))
        match channel:
            case "store":
                tables |= made.purchases(orders, lines, items)
                tables["s_store_returns"] = made.store_returns(lines[returned], items.take(pa.array(returned)))
            case "catalog":
                tables |= made.catalog_orders(orders, lines, items)
                tables["s_catalog_returns"] = made.catalog_returns(lines[returned], items.take(pa.array(returned)))
            case "web":
                tables |= made.web_orders(orders, lines, items)
                tables["s_web_returns"] = made.web_returns(lines[returned], items.take(pa.array(returned)))
    tables["s_inventory"] = made.inventory()
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in tables.items():
        pq.write_table(pa.table(dict(columns)), folder / f"{name}.parquet")
    return DeletedDates(made.ranges(), made.ranges())


class _Staging:
    def __init__(self, data: Path, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self._known = {table: _current_names(data / table, *columns) for table, columns in _NAMES.items()}

    def purchases(self, orders: np.ndarray, lines: np.ndarray, items: pa.Array) -> dict[str, Mapping[str, pa.Array]]:
        order = {
            "purc_purchase_id": pa.array(orders),
            "purc_store_id": self.names("store", len(orders)),
            "purc_customer_id": self.names("customer", len(orders)),
            "purc_purchase_date": self._dates(len(orders)),
            "purc_purchase_time": self._integers(0, 86_400, len(orders)),
            "purc_register_id": self._integers(1, 17, len(orders)),
            "purc_clerk_id": self._integers(1, 101, len(orders)),
        }
        return {"s_purchase": order, "s_purchase_lineitem": self._lines("plin", "sale_price", lines, items)}

    def catalog_orders(
        self, orders: np.ndarray, lines: np.ndarray, items: pa.Array
    ) -> dict[str, Mapping[str, pa.Array]]:
        order = {**self._order("cord", orders), "cord_call_center_id": self.names("call_center", len(orders))}
        line = {
            **self._lines("clin", "sales_price", lines, items),
            **self._shipped("clin", len(lines)),
            "clin_catalog_number": self._integers(1, 100, len(lines)),
            "clin_catalog_page_number": self._integers(1, 109, len(lines)),
        }
        return {"s_catalog_order": order, "s_catalog_order_lineitem": line}

    def web_orders(self, orders: np.ndarray, lines: np.ndarray, items: pa.Array) -> dict[str, Mapping[str, pa.Array]]:
        order = {**self._order("word", orders), "word_web_site_id": self.names("web_site", len(orders))}
        line = {
            **self._lines("wlin", "sales_price", lines, items),
            **self._shipped("wlin", len(lines)),
            "wlin_web_page_id": self.names("web_page", len(lines)),
        }
        return {"s_web_order": order, "s_web_order_lineitem": line}

    def store_returns(self, orders: np.ndarray, items: pa.Array) -> Mapping[str, pa.Array]:
        return {
            "sret_store_id": self.names("store", len(orders)),
            "sret_customer_id": self.names("customer", len(orders)),
            "sret_ticket_number": pa.array(orders).cast(pa.string()),
            **self._returns("sret", items, "store_credit"),
        }

    def catalog_returns(self, orders: np.ndarray, items: pa.Array) -> Mapping[str, pa.Array]:
        return {
            "cret_order_id": pa.array(orders),
            "cret_call_center_id": self.names("call_center", len(orders)),
            **{f"cret_{who}_customer_id": self.names("customer", len(orders)) for who in ("return", "refund")},
            **self._returns("cret", items, "merchant_credit"),
            "cret_shipmode_id": self.names("ship_mode", len(orders)),
            "cret_catalog_page_id": self.names("catalog_page", len(orders)),
            "cret_warehouse_id": self.names("warehouse", len(orders)),
        }

    def web_returns(self, orders: np.ndarray, items: pa.Array) -> Mapping[str, pa.Array]:
        return {
            "wret_order_id": pa.array(orders),
            "wret_web_page_id": self.names("web_page", len(orders)),
            **{f"wret_{who}_customer_id": self.names("customer", len(orders)) for who in ("return", "refund")},
            **self._returns("wret", items, "account_credit"),
        }

    def inventory(self) -> Mapping[str, pa.Array]:
        """One week's stocks of every item in every warehouse."""
        warehouses, items = self._known["warehouse"], self._known["item"]
        count = len(warehouses) * len(items)
        return {
            "invn_warehouse_id": warehouses.take(pa.array(np.repeat(np.arange(len(warehouses)), len(items)))),
            "invn_item_id": items.take(pa.array(np.tile(np.arange(len(items)), len(warehouses)))),
            "invn_date": self._dates(1).take(pa.array(np.zeros(count, np.int64))),
            "invn_qty_on_hand": self._integers(0, 1000, count),
        }

    def ranges(self) -> tuple[Dates, ...]:
        found = []
        for start in self.rng.integers(0, _DAYS, 3):
            first = _FIRST_DAY + datetime.timedelta(int(start))
            found.append((first.isoformat(), (first + datetime.timedelta(int(self.rng.integers(2, 15)))).isoformat()))
        return tuple(found)

    def names(self, table: str, count: int) -> pa.Array:
        """Names of current rows of a dimension, among them NULL and a name without a row."""
        known = self._known[table]
        place = self.rng.integers(0, len(known), count)
        place[self.rng.random(count) < UNKNOWN] = len(known)
        wanted = pa.array(place, mask=self.rng.random(count) < NULLS)
        return pa.concat_arrays([known, pa.array([_NO_ROW])]).take(wanted)

    def _order(self, prefix: str, orders: np.ndarray) -> dict[str, pa.Array]:
        return {
            f"{prefix}_order_id": pa.array(orders),
            f"{prefix}_bill_customer_id": self.names("customer", len(orders)),
            f"{prefix}_ship_customer_id": self.names("customer", len(orders)),
            f"{prefix}_order_date": self._dates(len(orders)),
            f"{prefix}_order_time": self._integers(0, 86_400, len(orders)),
            f"{prefix}_ship_mode_id": self.names("ship_mode", len(orders)),
        }

    def _lines(self, prefix: str, price: str, lines: np.ndarray, items: pa.Array) -> dict[str, pa.Array]:
        order = "purchase" if prefix == "plin" else "order"
        return {
            f"{prefix}_{order}_id": pa.array(lines),
            f"{prefix}_line_number": pa.array((np.arange(len(lines)) % LINES + 1).astype(np.int32)),
            f"{prefix}_item_id": items,
            f"{prefix}_promotion_id": self.names("promotion", len(lines)),
            f"{prefix}_quantity": self._integers(1, 101, len(lines)),
            f"{prefix}_{price}": self._amounts(300, len(lines)),
            f"{prefix}_coupon_amt": self._amounts(50, len(lines)),
        }

    def _shipped(self, prefix: str, count: int) -> dict[str, pa.Array]:
        return {
            f"{prefix}_warehouse_id": self.names("warehouse", count),
            f"{prefix}_ship_date": self._dates(count),
            f"{prefix}_ship_cost": self._amounts(100, count),
        }

    def _returns(self, prefix: str, items: pa.Array, credit: str) -> dict[str, pa.Array]:
        count = len(items)
        seconds = self.rng.integers(0, 86_400, count)
        amounts = ("return_amt", "return_tax", "return_fee", "return_ship_cost", "refunded_cash", "reversed_charge")
        return {
            f"{prefix}_line_number": self._integers(1, LINES + 1, count),
            f"{prefix}_item_id": items,
            f"{prefix}_return_date": self._dates(count),
            f"{prefix}_return_time": pa.array([str(datetime.timedelta(seconds=int(one))).zfill(8) for one in seconds]),
            f"{prefix}_return_qty": self._integers(1, 101, count),
            **{f"{prefix}_{name}": self._amounts(1000, count) for name in (*amounts, credit)},
            f"{prefix}_reason_id": self.names("reason", count),
        }

    def _dates(self, count: int) -> pa.Array:
        days = self.rng.integers(0, _DAYS, count).astype("timedelta64[D]")
        return pa.array(np.datetime64(_FIRST_DAY) + days).cast(pa.string())

    def _integers(self, least: int, end: int, count: int) -> pa.Array:
        return pa.array(self.rng.integers(least, end, count, dtype=np.int32), mask=self.rng.random(count) < NULLS)

    def _amounts(self, most: int, count: int) -> pa.Array:
        cents = pa.array(self.rng.integers(0, most * 100, count), mask=self.rng.random(count) < NULLS)
        return pc.multiply(cents.cast(pa.decimal128(19, 0)), Decimal("0.01")).cast(pa.decimal128(7, 2))


def _current_names(folder: Path, name: str, ended: str | None) -> pa.Array:
    table = pq.read_table(folder, columns=[name, *([ended] if ended else [])])
    names = table[name].cast(pa.string())
    return (names.filter(pc.is_null(table[ended])) if ended else names).unique()

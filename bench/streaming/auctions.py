"""Events of an auction house, as Nexmark has them: of fifty one is a person, three are auctions, 46 are bids.

Some people and auctions are hot: half of the bids are on the newest auctions, most bidders and sellers are few.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

KINDS = {
    "person": "id BIGINT, name STRING, emailAddress STRING, city STRING, state STRING, dateTime TIMESTAMP, "
    "extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, "
    "expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, extra STRING",
}
"""Streams, with their columns."""
_EVENTS = """
SELECT i, i // 50 AS epoch, i % 50 AS kind, hash(i, {seed}) AS h, hash(i + 1, {seed}) AS h2, hash(i + 2, {seed}) AS h3,
  TIMESTAMP '2026-05-01 00:00:00' + to_milliseconds(i * {gap}) AS dateTime
FROM range({start}, {end}) t(i)
"""
_SELECT = {
    "person": """SELECT 1000 + epoch AS id, 'person ' || (h % 97) AS name, 'p' || epoch || '@x.org' AS emailAddress,
  ['Phoenix', 'Boise', 'Portland', 'Kent'][1 + (h2 % 4)::BIGINT] AS city,
  ['AZ', 'ID', 'OR', 'WA', 'CA', 'WY'][1 + (h3 % 6)::BIGINT] AS state, dateTime, repeat('cx', (h % 9)::INT) AS extra
FROM events WHERE kind = 0""",
    "auction": """SELECT 1000 + epoch * 3 + kind - 1 AS id, 'item ' || (h % 211) AS itemName,
  'words ' || (h2 % 31) AS description,
  (h % 1000)::BIGINT AS initialBid, (h % 1000 + h2 % 1000)::BIGINT AS reserve, dateTime,
  dateTime + to_milliseconds((2000 + h3 % 20000)::BIGINT) AS expires,
  CASE WHEN h2 % 4 > 0 THEN 1000 + epoch // 100 * 100 ELSE 1000 + (h % (epoch + 1))::BIGINT END AS seller,
  (10 + h3 % 5)::BIGINT AS category, repeat('c', (h % 7)::INT) AS extra
FROM events WHERE kind BETWEEN 1 AND 3""",
    "bid": """SELECT CASE WHEN h % 2 > 0 THEN 1000 + epoch * 3 // 100 * 100
    ELSE 1000 + (h2 % (epoch * 3 + 3))::BIGINT END AS auction,
  CASE WHEN h3 % 4 > 0 THEN 1001 + epoch // 100 * 100 ELSE 1000 + (h % (epoch + 1))::BIGINT END AS bidder,
  (100 * pow(10, (h3 % 6000) / 1000.0))::BIGINT AS price,
  ['Google', 'Facebook', 'Baidu', 'Apple', 'channel-7', 'channel-9'][1 + (h2 % 6)::BIGINT] AS channel,
  'https://www.nexmark.com/a' || (h % 5) || '/b' || (h2 % 7) || '/item.htm?query=1'
    || CASE WHEN h3 % 3 > 0 THEN '&channel_id=' || (h3 % 1000) ELSE '' END AS url,
  dateTime, repeat('abc', (h3 % 20)::INT) AS extra
FROM events WHERE kind > 3""",
}


def write_events(folder: Path, start: int, end: int, *, seed: int = 1, gap: int = 10) -> None:
    """Write the events of some numbers, `gap` milliseconds apart, as a Parquet file in a folder of each kind."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE events AS {_EVENTS.format(seed=seed, start=start, end=end, gap=gap)}")
        for kind, select in _SELECT.items():
            target = folder / kind
            target.mkdir(parents=True, exist_ok=True)
            hidden = target / f".{start:012}.parquet"
            connection.execute(f"COPY ({select} ORDER BY i) TO '{hidden}' (FORMAT parquet)")
            hidden.rename(target / hidden.name.removeprefix("."))

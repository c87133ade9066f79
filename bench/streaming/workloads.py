"""Work over ad events whose answer is kept up to date, in the words of each engine."""

from __future__ import annotations

from dataclasses import dataclass

ADVERTISERS = "SELECT i AS campaign_id, i % 100 AS advertiser FROM range(1000) t(i)"
"""Rows of the table `campaigns`, for DuckDB."""


@dataclass(frozen=True, slots=True)
class View:
    """Materialized view of ClickHouse: its table's columns and engine, the query that fills it from the rows of an
    insert, and the query that gives the answer.
    """

    columns: str
    engine: str
    fill: str
    answer: str


@dataclass(frozen=True, slots=True)
class Workload:
    """`title` names it in results.

    `query` is for sharkpy, and for Spark with its words; `batch` for DuckDB, over everything.
    """

    title: str
    rows: int
    query: str
    batch: str
    checks: tuple[str, ...]
    """Aggregates over the rows of the answer, for which all engines must have the same result."""
    spark_mode: str
    """Output mode of Structured Streaming in which one batch gives the whole answer."""
    view: View | None = None
    wanted: tuple[tuple[str, float, float], ...] = ()
    """Least ratios to a peer: from JSON, and from Parquet; 0 for none."""


DUCKDB, CHDB, SPARK = "DuckDB, one batch", "ClickHouse's view (chDB)", "Spark Structured Streaming"
WORKLOADS = {
    "ads": Workload(
        "ad counts by window",
        10_000_000,
        "SELECT advertiser, window.start AS start, count(*) AS n FROM events e JOIN campaigns c "
        "ON e.campaign_id = c.campaign_id WHERE event_type = 'view' "
        "GROUP BY advertiser, window(event_time, '10 seconds')",
        "SELECT advertiser, time_bucket(INTERVAL 10 SECOND, event_time) AS start, count(*) AS n FROM events e "
        "JOIN campaigns c ON e.campaign_id = c.campaign_id WHERE event_type = 'view' GROUP BY ALL",
        ("count(*)", "sum(n)", "sum(n * advertiser)", "min(start)", "max(start)"),
        "update",
        View(
            "advertiser Int64, start DateTime64(6), n UInt64",
            "SummingMergeTree ORDER BY (advertiser, start)",
            "SELECT advertiser, toStartOfInterval(event_time, INTERVAL 10 SECOND) AS start, count() AS n "
            "FROM d.events e JOIN d.campaigns c ON e.campaign_id = c.campaign_id WHERE event_type = 'view' "
            "GROUP BY advertiser, start",
            "SELECT advertiser, start, sum(n) AS n FROM d.t GROUP BY advertiser, start",
        ),
        ((SPARK, 4, 8), (CHDB, 1.5, 1), (DUCKDB, 0.6, 0.25)),
    ),
    "sliding": Workload(
        "sliding windows",
        3_000_000,
        "SELECT ad_type, window.start AS start, sum(user_id) AS s FROM events "
        "GROUP BY ad_type, window(event_time, '60 seconds', '1 second')",
        "SELECT ad_type, time_bucket(INTERVAL 1 SECOND, event_time) - n * INTERVAL 1 SECOND AS start, "
        "sum(user_id) AS s FROM events, range(60) r(n) GROUP BY ALL",
        ("count(*)", "sum(s)", "max(s)", "min(start)", "max(start)"),
        "update",
        View(
            "ad_type String, second DateTime64(6), s Int64",
            "SummingMergeTree ORDER BY (ad_type, second)",
            "SELECT ad_type, toStartOfInterval(event_time, INTERVAL 1 SECOND) AS second, sum(user_id) AS s "
            "FROM d.events GROUP BY ad_type, second",
            "SELECT ad_type, second - toIntervalSecond(arrayJoin(range(60))) AS start, sum(s) AS s FROM d.t "
            "GROUP BY ad_type, start",
        ),
        ((SPARK, 60, 60), (CHDB, 1.2, 1.2), (DUCKDB, 1, 1)),
    ),
    "totals": Workload(
        "totals by key",
        10_000_000,
        "SELECT user_id, count(*) AS n, sum(campaign_id) AS s FROM events GROUP BY user_id",
        "SELECT user_id, count(*) AS n, sum(campaign_id) AS s FROM events GROUP BY user_id",
        ("count(*)", "sum(n)", "sum(s)", "max(n)"),
        "update",
        View(
            "user_id Int64, n UInt64, s Int64",
            "SummingMergeTree ORDER BY user_id",
            "SELECT user_id, count() AS n, sum(campaign_id) AS s FROM d.events GROUP BY user_id",
            "SELECT user_id, sum(n) AS n, sum(s) AS s FROM d.t GROUP BY user_id",
        ),
        ((SPARK, 0, 8), (CHDB, 1.2, 1.2), (DUCKDB, 0.4, 0.4)),
    ),
    "sessions": Workload(
        "session windows",
        3_000_000,
        "SELECT page_id, session_window.start AS start, count(*) AS n FROM events "
        "GROUP BY page_id, session_window(event_time, '30 seconds')",
        "SELECT page_id, min(event_time) AS start, count(*) AS n FROM (SELECT *, sum(begins) OVER "
        "(PARTITION BY page_id ORDER BY event_time) AS number FROM (SELECT *, "
        "CAST(coalesce(event_time > lag(event_time) OVER (PARTITION BY page_id ORDER BY event_time) "
        "+ INTERVAL 30 SECOND, true) AS INT) AS begins FROM events)) "
        "GROUP BY page_id, number",
        ("count(*)", "sum(n)", "max(n)", "max(start)"),
        "complete",
        None,
        ((SPARK, 20, 20), (DUCKDB, 0.5, 0.5)),
    ),
    "stream_join": Workload(
        "join of streams",
        3_000_000,
        "SELECT v.user_id AS user_id, v.event_time AS seen, c.event_time AS clicked FROM events v JOIN events2 c "
        "ON v.user_id = c.user_id AND c.event_time >= v.event_time "
        "AND c.event_time < v.event_time + INTERVAL 10 SECONDS WHERE v.event_type = 'view' AND c.event_type = 'click'",
        "SELECT v.user_id AS user_id, v.event_time AS seen, c.event_time AS clicked FROM events v JOIN events c "
        "ON v.user_id = c.user_id AND c.event_time >= v.event_time "
        "AND c.event_time < v.event_time + INTERVAL 10 SECOND WHERE v.event_type = 'view' AND c.event_type = 'click'",
        ("count(*)", "sum(user_id)", "max(seen)", "max(clicked)"),
        "append",
        None,
        ((SPARK, 20, 20), (DUCKDB, 0.2, 0.2)),
    ),
}

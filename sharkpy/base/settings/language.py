"""Settings of HiveQL's meaning: time zones, positions, quoting, samples."""

from __future__ import annotations

from sharkpy.base.digits import shortened
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.settings.setting import Setting
from sharkpy.base.time_zone import LOCAL, check_zone


def check_ansi(text: str) -> bool:
    """Return False. Raise ConfigurationError for true, since casts and sums are not checked."""
    if text.strip().lower() not in ("false", "0"):
        hint = "assert_true(x) and CHECK constraints refuse rows; in Spark 3 and Hive false is the default"
        message = f"spark.sql.ansi.enabled={shortened(text)} is not supported: casts that fail give NULL"
        raise ConfigurationError(message, hint=hint, sqlstate="0A000")
    return False


TIME_ZONE = Setting(
    "shark.session.timezone",
    LOCAL,
    "Time zone of the clock, and of conversions between numbers and times. LOCAL: the zone of the process."
    " Also SET TIME ZONE.",
    synonyms=("hive.local.time.zone", "spark.sql.session.timezone"),
    check=check_zone,
)
INTEGER_SECONDS = Setting(
    "hive.int.timestamp.conversion.in.seconds",
    False,
    "CAST of an integer AS TIMESTAMP counts seconds, not milliseconds.",
)
SAMPLE_SEED = Setting(
    "hive.sample.seednumber",
    0,
    "Seed that selects the rows of TABLESAMPLE by a share or by random buckets.",
    least=-(1 << 31),
    most=(1 << 31) - 1,
)
GROUP_POSITIONS = Setting("hive.groupby.position.alias", True, "GROUP BY 1 means the first item of the select list.")
ORDER_POSITIONS = Setting("hive.orderby.position.alias", True, "ORDER BY 1 means the first item of the select list.")
LEGACY_GROUPING_ID = Setting(
    "shark.grouping.id.legacy",
    False,
    "Compute GROUPING__ID as before Hive 2.3: one bit for each grouping column, the lowest bit for the first column.",
)
ANSI = Setting(
    "spark.sql.ansi.enabled",
    False,
    "Only false is supported: casts that fail return NULL and integers wrap around, as in Hive.",
    check=check_ansi,
)
QUOTED_IDENTIFIERS = Setting(
    "hive.support.quoted.identifiers",
    "column",
    "none: a name in backquotes in a select list is a regular expression.",
    choices=("column", "none", "standard"),
)

"""Functions without a row: casts by the names of Hive's classes, grouping, and those that call Java."""

from __future__ import annotations

from sharkpy.udf.java import built_in
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING, TINYINT

CAST_FUNCTIONS = {
    "udftoboolean": BOOLEAN,
    "udftobyte": TINYINT,
    "udftodouble": DOUBLE,
    "udftofloat": FLOAT,
    "udftointeger": INT,
    "udftolong": BIGINT,
    "udftoshort": SMALLINT,
    "udftostring": STRING,
}
"""Name -> the type that the argument is cast to."""

FORMS = {
    "cast": "a value as another type; NULL where it does not convert",
    "date_part": "a part of a date or time, as EXTRACT gives it",
    "datepart": "a part of a date or time, as EXTRACT gives it",
    "extract": "a part of a date or time: year, quarter, month, week, day, dayofweek, doy, hour, minute, second",
    "make_interval": "an interval of years and months, or of weeks, days, hours, minutes and seconds",
    "position": "where a part begins in a string, from 1; 0 where it is absent",
    "schema_of_json": "the type, as from_json takes it, that a constant JSON text has",
    "try_cast": "as CAST",
    "predict": "what the model kept as the table of that name predicts of these features",
    "predict_proba": "the probability of each class, in the order of the classes, by the model of that name",
    "grouping": "1 where the column is aggregated away in the row's grouping set, else 0",
    **built_in.DOCS,
    **{name: f"its argument as {dtype}, as CAST gives it" for name, dtype in CAST_FUNCTIONS.items()},
}
"""Name -> what it is for."""

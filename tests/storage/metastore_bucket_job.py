"""Program that runs the statements of a folder's `statements.json` in a session of ours, over the Hive metastore that
`hive_support_job` has made there. Rows of each go to `answers.json`, as texts of JSON, sorted. It runs in its own
process, so the classes of its JVM come from `settings.json`, whatever ran before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import sharkpy


def main(folder: Path) -> None:
    metastore = {"shark.metastore": "hive", "shark.metastore.derby": str(folder / "metastore")}
    settings = json.loads((folder / "settings.json").read_text())
    with sharkpy.connect("local[2]", folder / "warehouse", **metastore, **settings) as context:
        found = [context.sql(text).fetchall() for text in json.loads((folder / "statements.json").read_text())]
    answers = [sorted(json.dumps(list(row), default=str) for row in rows) for rows in found]
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Settings of streams and continuous queries."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

STREAM_POLL_MS = Setting(
    "shark.stream.poll.ms",
    50,
    "Milliseconds after which the source of a stream is looked at again; a tenth of that for a while after rows came,"
    " up to four times as many where nothing comes, or the system tells what comes.",
    is_guarded=True,
    least=1,
    most=3_600_000,
)
STREAM_LIST_MS = Setting(
    "shark.stream.list.ms",
    1000,
    "Milliseconds between two looks at the folder of a stream in a bucket or in HDFS, for each page of its list.",
    is_guarded=True,
    least=1,
    most=3_600_000,
)
STREAM_LIST_MOST_MS = Setting(
    "shark.stream.list.most.ms",
    30_000,
    "Milliseconds to which the time between two such looks grows while nothing comes: a tenth of the time for which"
    " nothing has come.",
    is_guarded=True,
    least=1,
    most=86_400_000,
)
STREAM_EPOCHS = Setting(
    "shark.stream.epochs.at.once",
    2,
    "Epochs of continuous queries that run at the same time.",
    is_guarded=True,
    least=1,
)
STREAM_KEPT_EPOCHS = Setting(
    "shark.stream.kept.epochs",
    20,
    "Last epochs that a continuous table can be rolled back to, or read at. Their files are not put together.",
    is_guarded=True,
    least=0,
    most=10_000,
)
STREAM_LOG_EPOCHS = Setting(
    "shark.stream.log.epochs", 10_000, "Epochs that the log of a continuous query keeps.", is_guarded=True, least=100
)

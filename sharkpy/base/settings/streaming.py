"""Settings of streams and continuous queries."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

STREAM_POLL_MS = Setting(
    "shark.stream.poll.ms",
    50,
    "Milliseconds between two checks of a stream's source. After new rows the interval is a tenth of this for"
    " a while. It is up to four times as long if nothing comes, or if the system reports changes.",
    is_guarded=True,
    least=1,
    most=3_600_000,
)
STREAM_LIST_MS = Setting(
    "shark.stream.list.ms",
    1000,
    "Milliseconds between two listings of a stream's folder in a bucket or in HDFS, for each page of the listing.",
    is_guarded=True,
    least=1,
    most=3_600_000,
)
STREAM_LIST_MOST_MS = Setting(
    "shark.stream.list.most.ms",
    30_000,
    "Maximum milliseconds between two such listings. While nothing comes, the interval grows to a tenth of the"
    " time since the last new file.",
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
    "Last epochs to which a continuous table can be rolled back, or at which it can be read. Their files are"
    " not merged.",
    is_guarded=True,
    least=0,
    most=10_000,
)
STREAM_LOG_EPOCHS = Setting(
    "shark.stream.log.epochs", 10_000, "Epochs that the log of a continuous query holds.", is_guarded=True, least=100
)

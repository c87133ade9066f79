"""One wide table of page views in the shape of ClickBench's `hits` (github.com/ClickHouse/ClickBench): 105 columns with
the names, types and kinds of values that its queries rest on. Seeded; scale 1 is 1 M rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.bigdata_data import write_batches

ROWS, BATCH = 1_000_000, 250_000
FIRST_SECOND, SECONDS = 1_372_636_800, 31 * 86_400
"""July 2013."""
COUNTER = 62
"""The site that seven queries ask for: a tenth of all rows."""

Rng = np.random.Generator
_SMALL = """
    JavaEnable GoodEvent CounterClass OS UserAgent IsRefresh ResolutionDepth FlashMajor FlashMinor NetMajor NetMinor
    UserAgentMajor CookieEnable JavascriptEnable IsMobile MobilePhone TraficSourceID SearchEngineID AdvEngineID
    IsArtifical ClientTimeZone SilverlightVersion1 SilverlightVersion2 SilverlightVersion4 IsLink IsDownload
    IsNotBounce IsOldCounter IsEvent IsParameter DontCountHits WithHash Age Sex Income Robotness HistoryLength
    HTTPError SocialSourceNetworkID ParamCurrencyID HasGCLID
"""
_PIXELS = """
    ResolutionWidth ResolutionHeight WindowClientWidth WindowClientHeight Interests RefererCategoryID URLCategoryID
"""
_NUMBERS = """
    RefererRegionID URLRegionID IPNetworkID SilverlightVersion3 CodeVersion OpenerName WindowName SendTiming
    DNSTiming ConnectTiming ResponseStartTiming ResponseEndTiming FetchTiming RemoteIP HID CLID
"""
_LONGS = """
    FUniqID ParamPrice
"""
_TEXTS = """
    FlashMinor2 UserAgentMinor Params PageCharset OriginalURL HitColor BrowserLanguage BrowserCountry SocialNetwork
    SocialAction SocialSourcePage ParamOrderID ParamCurrency OpenstatServiceName OpenstatCampaignID OpenstatAdID
    OpenstatSourceID UTMSource UTMMedium UTMCampaign UTMContent UTMTerm FromTag
"""


def write_hits(folder: Path, scale: float) -> None:
    write_batches(folder / "hits" / "hits.parquet", _batches(max(int(ROWS * scale), 1000)))


def _batches(rows: int) -> Iterator[pa.Table]:
    rng = np.random.default_rng(7)
    words = [f"{syllable}{number}" for number in range(60) for syllable in ("car", "news", "film", "дом", "shop")]
    users = rng.integers(-(2**62), 2**62, max(rows // 20, 50))
    for start in range(0, rows, BATCH):
        size = min(BATCH, rows - start)
        yield pa.table(_columns(rng, size, words, users))


def _columns(rng: Rng, size: int, words: list[str], users: np.ndarray) -> dict[str, object]:
    seconds = FIRST_SECOND + rng.integers(0, SECONDS, size)
    counters = np.where(rng.random(size) < 0.1, COUNTER, _skewed(rng, size, 6000)).astype(np.int32)
    urls, titles = _urls(rng, size, words, "http://", 40_000), _phrases(rng, size, words, 0.05)
    columns: dict[str, object] = {
        "WatchID": rng.integers(2**61, 2**62, size),
        "Title": _where(rng, size, 0.02, "Google - ", titles),
        "EventTime": pa.array(seconds * 1_000_000).cast(pa.timestamp("us")),
        "EventDate": pa.array((seconds // 86_400).astype(np.int32)).cast(pa.date32()),
        "CounterID": counters,
        "ClientIP": rng.integers(-(2**31), 2**31, size, dtype=np.int64).astype(np.int32) // 1000,
        "RegionID": _skewed(rng, size, 5000).astype(np.int32),
        "UserID": users[_skewed(rng, size, len(users))],
        "URL": _where(rng, size, 0.03, "http://google.", urls),
        "Referer": _urls(rng, size, words, "https://www.", 20_000, empty=0.4),
        "MobilePhoneModel": _choice(rng, size, [f"phone {one}" for one in range(150)], 0.93),
        "SearchPhrase": _phrases(rng, size, words, 0.85),
        "ClientEventTime": pa.array((seconds + 3) * 1_000_000).cast(pa.timestamp("us")),
        "LocalEventTime": pa.array((seconds + 7200) * 1_000_000).cast(pa.timestamp("us")),
        "RefererHash": np.array([3594120000172545465, 11, -12], np.int64)[_skewed(rng, size, 3)],
        "URLHash": np.array([2868770270353813622, 13, -14], np.int64)[_skewed(rng, size, 3)],
    }
    made: tuple[tuple[str, Callable[[], object]], ...] = (
        (_SMALL, lambda: np.where(rng.random(size) < 0.8, 0, _skewed(rng, size, 40)).astype(np.int16)),
        (_PIXELS, lambda: (_skewed(rng, size, 30) * 64).astype(np.int16)),
        (_NUMBERS, lambda: (_skewed(rng, size, 100_000) - 5).astype(np.int32)),
        (_LONGS, lambda: rng.integers(-(2**40), 2**40, size)),
        (_TEXTS, lambda: _choice(rng, size, words, 0.9)),
    )
    for names, make in made:
        columns |= {name: make() for name in names.split()}
    return columns


def _skewed(rng: Rng, size: int, count: int) -> np.ndarray:
    """Numbers below `count`, small ones far more often."""
    return (rng.random(size) ** 3 * count).astype(np.int64)


def _choice(rng: Rng, size: int, texts: list[str], empty: float) -> pa.Array:
    places = np.where(rng.random(size) < empty, 0, 1 + _skewed(rng, size, len(texts)))
    return pa.array(["", *texts]).take(pa.array(places))


def _phrases(rng: Rng, size: int, words: list[str], empty: float) -> pa.Array:
    phrases = [f"{words[one % len(words)]} {words[one * 7 % len(words)]}" for one in range(3000)]
    return _choice(rng, size, phrases, empty)


def _urls(rng: Rng, size: int, words: list[str], scheme: str, count: int, empty: float = 0.0) -> pa.Array:
    known = [f"{scheme}{words[one % len(words)]}.example/{words[one * 11 % len(words)]}/{one}" for one in range(count)]
    return _choice(rng, size, known, empty)


def _where(rng: Rng, size: int, share: float, prefix: str, texts: pa.Array) -> pa.Array:
    """Texts, a share of them with a prefix."""
    is_changed = pa.array(rng.random(size) < share)
    return pc.if_else(is_changed, pc.binary_join_element_wise(prefix, texts, ""), texts)

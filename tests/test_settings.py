"""Table of settings: each row once, under one name, by each of its keys."""

import re
from collections import Counter
from collections.abc import Callable

import pytest

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError, SharkError
from sharkpy.base.settings import SETTINGS, Conf, Setting


def test_each_key_belongs_to_one_setting() -> None:
    keys = Counter(key.lower() for setting in SETTINGS for key in (setting.key, *setting.synonyms))
    assert [key for key, number in keys.items() if number > 1] == []


def test_rows_of_all_subjects_are_names_of_the_package() -> None:
    named = [value for value in vars(settings).values() if isinstance(value, Setting)]
    assert len(named) == len(SETTINGS)
    assert {setting.key for setting in named} == {setting.key for setting in SETTINGS}


def test_every_default_survives_its_own_text() -> None:
    conf = Conf()
    for setting in SETTINGS:
        assert setting.parse(conf[setting.key]) == setting.default, setting.key


def test_a_synonym_sets_and_gives_the_setting() -> None:
    conf = Conf({"SPARK.SQL.SESSION.TIMEZONE": "UTC"})
    assert conf["hive.local.time.zone"] == conf.value(settings.TIME_ZONE)
    conf.reset("hive.local.time.zone")
    assert conf.value(settings.TIME_ZONE) == settings.TIME_ZONE.default


def refusal(action: Callable[[], object]) -> SharkError | None:
    """The error that `action` ends in; None for none, and any other than the engine's own is a failure."""
    try:
        action()
    except SharkError as error:
        return error
    return None


@pytest.mark.parametrize("text", ["-5", "0", "1", "1" + "0" * 30, "9" * 5000, "1e400", "nan", "inf", "１２", "x", ""])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_value_is_within_its_range_or_refused(setting: Setting[int], text: str) -> None:
    conf = Conf()
    error = refusal(lambda: conf.set(setting.key, text))
    value = conf.value(setting)
    if error is not None:
        assert error.sqlstate in ("22023", "0A000")
        assert len(str(error)) < 300
        assert value == setting.default
    assert type(value) is type(setting.default)
    assert not isinstance(value, int | float) or isinstance(value, bool) or setting.least <= value <= setting.greatest


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("shark.block.rows", "-5", "from 1 to 2147483647"),
        ("shark.block.rows", "0", "from 1 to 2147483647"),
        ("shark.query.timeout", "-0.5", "from 0 to 1000000000"),
        ("shark.pruning", "maybe", "true or false"),
        ("hive.exec.dynamic.partition.mode", "strikt", "nonstrict or strict"),
    ],
)
def test_a_refusal_names_the_range(key: str, value: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f'"{value}" is not a value of {key}')) as caught:
        Conf({key: value})
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "value"), [("1k", 1024), ("2KB", 2048), ("1.5g", 3 << 29), (" 7 ", 7), ("12b", 12), ("1t", 1 << 40)]
)
def test_sizes_have_units(text: str, value: int) -> None:
    assert settings.BLOCK_BYTES.parse(text) == value


def test_a_mistyped_key_of_the_engine_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigurationError, match=r'no setting "shark\.stroe\.memory\.limit"') as caught:
        Conf({"shark.stroe.memory.limit": "1g"})
    assert caught.value.hint == 'did you mean "shark.store.memory.limit"?'


def test_keys_of_other_systems_are_kept() -> None:
    conf = Conf({"hive.no.such.key": "1", "spark.sql.no.such": "2", "mapred.x": "3", "hivevar:sharkskin": "4"})
    assert conf["hive.no.such.key"] == "1"
    assert conf["hivevar:sharkskin"] == "4"

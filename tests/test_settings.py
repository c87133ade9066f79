"""Table of settings: each row once, under one name, by each of its keys."""

from collections import Counter

from sharkpy.base import settings
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

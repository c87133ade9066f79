"""Kernels by themselves: published vectors, round trips, and what Java answers."""

from __future__ import annotations

import decimal
import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ExecutionError, ResourceError
from sharkpy.udf.hash_kernels import aes_decrypt, aes_encrypt, murmur, murmur_double, murmur_integer
from sharkpy.udf.java_datetime import parse_time
from sharkpy.udf.json_path import get_json_object
from sharkpy.udf.kernels import KERNELS
from sharkpy.udf.masking import mask_number, mask_text
from sharkpy.udf.number_text import conv, format_pattern, format_places
from sharkpy.udf.printf import printf
from sharkpy.udf.string_kernels import initcap, sentences
from sharkpy.udf.text_codes import java_hash, java_string_hash, unbase64
from sharkpy.udf.xpath import absolute, xpath, xpath_string
from tests.waiting import allowed

_KEYS = st.sampled_from([16, 24, 32]).flatmap(lambda size: st.binary(min_size=size, max_size=size))


@pytest.mark.parametrize(
    ("size", "cipher"),
    [
        (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (32, "8ea2b7ca516745bfeafc49904b496089"),
    ],
)
def test_aes_vectors_of_the_standard(size: int, cipher: str) -> None:
    """FIPS 197, appendix C."""
    encrypted = aes_encrypt(bytes.fromhex("00112233445566778899aabbccddeeff"), bytes(range(size)))
    assert encrypted is not None
    assert encrypted[:16].hex() == cipher


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=70), _KEYS)
def test_aes_comes_back(data: bytes, key: bytes) -> None:
    encrypted = aes_encrypt(data, key)
    assert encrypted is not None
    assert len(encrypted) == len(data) // 16 * 16 + 16
    assert aes_decrypt(encrypted, key) == data


def test_aes_refuses() -> None:
    assert aes_encrypt(b"x", b"short") is None
    assert aes_decrypt(bytes(16), b"short") is None
    assert aes_decrypt(b"", bytes(16)) is None
    assert aes_decrypt(b"x" * 15, bytes(16)) is None
    assert aes_decrypt(b"x" * 17, bytes(16)) is None


def test_aes_refuses_what_another_key_encrypted() -> None:
    encrypted = aes_encrypt(b"secret", b"1" * 16)
    assert encrypted is not None
    assert aes_decrypt(encrypted, b"2" * 16) is None
    assert aes_decrypt(encrypted[:-1] + bytes([encrypted[-1] ^ 1]), b"1" * 16) is None


@pytest.mark.parametrize(("value", "width", "expected"), [(300, 2, 2107031704), (300_000_000_000, 8, -888935297)])
def test_murmur_of_hive_buckets(value: int, width: int, expected: int) -> None:
    assert murmur_integer(value, width) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", -965378730),
        (b"a", 1086686554),
        (b"ab", 398604456),
        (b"abc", -885266671),
        (b"abcd", -873246740),
        ("größer".encode(), 1140624340),
    ],
)
def test_murmur_of_every_length_of_tail(data: bytes, expected: int) -> None:
    assert murmur(data) == expected


@pytest.mark.parametrize(("value", "expected"), [(1.5, 76905473), (-0.0, -1757926548), (float("inf"), 1614292060)])
def test_murmur_of_floating_numbers(value: float, expected: int) -> None:
    assert murmur_double(value) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b", "/a/b"),
        ("a/b * a/c", "/a/b*/a/c"),
        ("sum(a/*)", "sum(/a/*)"),
        ("a/b[@id = 'a/b']", "/a/b[@id='a/b']"),
        ("//b", "//b"),
        ("/a/b", "/a/b"),
        ("(a|c)/b", "(/a|/c)/b"),
        ("@x", "/@x"),
        ("..", "/.."),
        ("text()", "/text()"),
        ("not(a/b)", "not(/a/b)"),
        ("a and b", "/a and /b"),
        ("div div mod", "/div div /mod"),
        ("*", "/*"),
        ("a[b and c]/d", "/a[b and c]/d"),
    ],
)
def test_relative_paths_start_at_the_document(path: str, expected: str) -> None:
    assert absolute(path) == expected


def test_xml_reads_nothing_from_outside() -> None:
    text = '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>'
    with pytest.raises(ExecutionError, match="not XML"):
        xpath(text, "a/text()")


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a":{"b":[1,{"c":"x"}]}}', "$.a.b[1].c", "x"),
        ('{"a":[{"b":1},{"b":[2,3]},{"c":4}]}', "$.a.b", "[1,2,3]"),
        ("[1,2,3]", "$.[1]", "2"),
        ("[[1,2],[3]]", "$[*][0]", "[1,3]"),
        ('{"a":1} rest', "$.a", "1"),
        ('{"a":"é"}', "$", '{"a":"é"}'),
        ('{"a":1}', "$[0]", None),
        ("[1]", "$.a", None),
        ('{"a":1}', "a", None),
        ("{", "$.a", None),
        ('{"a":null}', "$.a", None),
    ],
)
def test_json_paths(text: str, path: str, expected: str | None) -> None:
    assert get_json_object(text, path) == expected


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("-0.123456789", "##################.###", "-0.123"),
        ("0.25", ".0", ".2"),
        ("1234567.5", "#,##0", "1,234,568"),
        ("1234567", "#,####", "123,4567"),
        ("5", "000.00", "005.00"),
        ("0.125", "0.0%", "12.5%"),
        ("-5", "'$'0.0", "-$5.0"),
        ("NaN", "0", "NaN"),
        ("-Infinity", "0", "-∞"),
    ],
)
def test_patterns_of_numbers(value: str, pattern: str, expected: str) -> None:
    assert format_pattern(value, pattern, True) == expected


def test_rounding_is_half_even_of_the_exact_value() -> None:
    assert [format_places(value, 2, True) for value in ("2.675", "0.125", "0.375")] == ["2.67", "0.12", "0.38"]
    assert format_places("2.675", 2, False) == "2.68"
    assert format_places("1", -1, False) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(-(10**15), 10**15))
def test_grouped_integers_read_back(value: int) -> None:
    text = format_places(str(value), 0, False)
    assert text is not None
    assert int(text.replace(",", "")) == value
    assert text == f"{value:,d}"


@settings(max_examples=60, deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(2, 36))
def test_digits_of_any_base_come_back(value: int, base: int) -> None:
    digits = conv(str(value), 10, -base)
    assert digits is not None
    assert int(digits, base) == value
    assert conv(digits, base, -10) == str(value)


@pytest.mark.parametrize(
    ("template", "kinds", "values", "expected"),
    [
        ("%5d|%-5d|%05d|%+d|%,d", "iiiii", ["42", "42", "42", "42", "1234567"], "   42|42   |00042|+42|1,234,567"),
        ("%05d|%(d|% d", "iii", ["-42", "-5", "5"], "-0042|(5)| 5"),
        ("%x %X %o %x", "isit", ["-1", "255", "8", "-1"], "ffffffff FF 10 ff"),
        (
            "%e %e %g %g",
            "ffff",
            ["0.0", "12345.678", "0.00001", "2300.41"],
            "0.000000e+00 1.234568e+04 1.00000e-05 2300.41",
        ),
        ("%a %a", "ff", ["1.0", "256.125"], "0x1.0p0 0x1.002p8"),
        ("%2$s %1$s %<s", "xx", ["a", "b"], "b a a"),
        ("%b %b %s %.2f", "zxxf", ["TRUE", None, None, None], "true false null nu"),
        ("%c%c%%%n", "ix", ["65", "x"], "Ax%\n"),
        ("%h %h", "ix", ["50", "a"], "32 61"),
        ("%s", "x", ["%d"], "%d"),
    ],
)
def test_printf(template: str, kinds: str, values: list[str | None], expected: str) -> None:
    assert printf(template, kinds, values) == expected


@pytest.mark.parametrize(("template", "kinds", "values"), [("%d", "", []), ("%d", "x", ["a"]), ("%q", "i", ["1"])])
def test_printf_refuses(template: str, kinds: str, values: list[str | None]) -> None:
    with pytest.raises(ExecutionError):
        printf(template, kinds, values)


@settings(max_examples=60, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=6))
def test_printf_of_decimals_is_exact(value: decimal.Decimal) -> None:
    assert decimal.Decimal(printf("%.6f", "n", [f"{value:f}"])) == value


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20), st.sampled_from(["all", "first", "last", "not_first", "not_last"]), st.integers(-2, 25))
def test_masked_texts_keep_their_shape(text: str, which: str, count: int) -> None:
    kept = mask_text(text, which, count, -1, -1, -1, -1)
    assert kept == text
    assert len(mask_text(text, which, count, 88, 120, 110, 42)) == len(text)


def test_masked_numbers_keep_sign_and_length() -> None:
    assert [mask_number(value, "last", 2, 9) for value in (12345, -12345, 7, 0)] == [12399, -12399, 9, 0]


def test_words_of_sentences() -> None:
    assert sentences("One. two? Three!") == [["One", "two"], ["Three"]]
    assert sentences("") == []


def test_sentences_are_those_of_java() -> None:
    text = "a b.  c d. e.\t(f g. “h?” i. 5 j.  6.  K"
    assert sentences(text) == [["a", "b"], ["c", "d", "e"], ["f", "g"], ["h"], ["i", "5", "j", "6"], ["K"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bed—the re-do snake_case", ["bed—the", "re-do", "snake_case"]),
        ("it’s o'clock l'e\u0301te\u0301", ["it", "s", "o'clock", "l'e\u0301te\u0301"]),
        ("7% 5¢ $5 #1 3.14, e.g a17%", ["7%", "5¢", "3.14", "e.g", "a17%"]),
        ("½ 1½ x²", ["1½", "x²"]),
        ("Siehe Nr. 5 und l. été", ["Siehe", "Nr", "5", "und", "l", "été"]),
    ],
)
def test_words_are_those_of_java(text: str, words: list[str]) -> None:
    """Answers of java.text.BreakIterator, in one sentence each."""
    assert sentences(text) == [words]


def test_string_hash_is_of_utf16() -> None:
    assert java_string_hash("hello") == 99162322
    assert java_string_hash("😀") == 1772899


def test_base64_passes_over_what_is_no_letter() -> None:
    assert unbase64("YW\n J!j") == b"abc"
    assert unbase64("YWI") == b"ab"
    assert unbase64("-_8") == unbase64("+/8=")


def test_kernels_have_names_of_their_own() -> None:
    names = [kernel.name for kernel in KERNELS]
    assert len(names) == len(set(names))


def _chained(items: Iterable[int]) -> int:
    value = 0
    for item in items:
        value = (value * 31 + item) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


@pytest.mark.parametrize("count", [0, 1, 50, 51, 10_000, 40_000])
def test_hashes_of_long_texts_go_by_pieces(count: int) -> None:
    text = "aß€" * count
    assert java_hash(text) == _chained(byte - 256 if byte > 127 else byte for byte in text.encode())
    assert java_string_hash(text) == _chained(map(ord, text))


def test_masks_of_long_texts_go_by_pieces() -> None:
    text = "Ab1-" * 600_000
    masked = mask_text(text, "not_first", 2, ord("X"), ord("x"), ord("n"), -1)
    assert masked == "Abn-" + "Xxn-" * 599_999
    assert mask_text("ab", "not_first", 5, 88, 120, 110, -1) == "ab"


def test_initcap_of_long_texts_keeps_words_whole() -> None:
    text = "one tWO\tthree " * 200_000
    assert initcap(text) == "One Two\tThree " * 200_000


def test_digits_that_do_not_fit_are_not_read() -> None:
    start = time.perf_counter()
    assert conv("A" * 10_000_000, 36, 10) == "18446744073709551615"
    assert time.perf_counter() - start < allowed(1)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("0" * 60 + "x", "y'0'" * 25 + "'!'"),
        ("May" * 25 + "x", "MMMM" + "''MMMM" * 24),
        ("1" * 100_000, "d'1'" * 100 + "'!'"),
    ],
)
def test_date_patterns_do_not_go_back_over_the_text(text: str, pattern: str) -> None:
    start = time.perf_counter()
    assert parse_time(text, pattern) is None
    assert time.perf_counter() - start < allowed(1)


def test_dots_without_a_sentence_take_linear_time() -> None:
    start = time.perf_counter()
    assert sentences("." * 200_000 + "x") == [["x"]]
    assert time.perf_counter() - start < allowed(2)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, "1" * 10_000])
def test_json_that_is_nested_too_deeply_is_none(text: str) -> None:
    assert get_json_object(text, "$[0]") is None
    assert get_json_object(text, "$.a") is None


def test_xml_that_is_nested_too_deeply_is_an_error() -> None:
    with pytest.raises(ExecutionError, match="the text is not XML"):
        xpath_string("<a>" * 100_000 + "</a>" * 100_000, "a")


@pytest.mark.parametrize(
    "path",
    ["//b[count(//b) > 1]", "//b[//b[//b]]", "//b/preceding::b/following::b", "/a/b[/a/b = .]"],
)
def test_paths_that_compare_all_parts_with_all_are_refused(path: str) -> None:
    xml = "<a>" + "<b/>" * 20_000 + "</a>"
    with pytest.raises(ResourceError, match="times within one another") as error:
        xpath(xml, path)
    assert error.value.sqlstate == "54001"
    assert xpath("<a><b/><b/></a>", path) == []


@pytest.mark.slow
def test_paths_into_a_large_document() -> None:
    xml = "<a>" + "<b c='1'>x</b>" * 20_000 + "</a>"
    assert len(xpath(xml, "//b[@c = 1][position() < 9]/text()")) == 8
    assert len(xpath(xml, "/a//b/text() | a/b/@c")) == 40_000


def test_entities_that_multiply_are_an_error() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(12))
    with pytest.raises(ExecutionError, match="the text is not XML"):
        xpath_string(f"<!DOCTYPE a [{entities}]><a>&e11;</a>", "a")


@pytest.mark.parametrize("template", ["%c", "%" + "9" * 5000 + "d", "%." + "9" * 5000 + "f", "%" + "9" * 5000 + "$d"])
def test_specifiers_that_cannot_be_are_errors(template: str) -> None:
    kind, value = ("f", "1.5") if template.endswith("f") else ("i", "-1")
    with pytest.raises(ExecutionError, match=r"^printf"):
        printf(template, kind, [value])

import { describe, expect, test } from "vitest";
import { ago, bytes, count, counted, oneLine, percent, seconds, shortCount } from "../../src/format";

test.each([
  [null, "—"],
  [0, "0"],
  [950, "950"],
  [301.28, "301"],
  [1234, "1.23 k"],
  [12_345, "12.3 k"],
  [999_999, "1.00 M"],
  [4_560_000_000, "4.56 G"],
])("%s as a short count is %s", (value, text) => expect(shortCount(value)).toBe(text));

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.00 KiB"],
  [1_048_575, "1.00 MiB"],
  [12_500_000, "11.9 MiB"],
])("%s bytes are %s", (value, text) => expect(bytes(value)).toBe(text));

test.each([
  [null, "—"],
  [0, "0 s"],
  [0.0000004, "1 µs"],
  [0.0123, "12 ms"],
  [0.9996, "1.00 s"],
  [9.87, "9.87 s"],
  [59.96, "1 min 0 s"],
  [3725, "1 h 2 min"],
])("%s seconds are %s", (value, text) => expect(seconds(value)).toBe(text));

describe("other figures", () => {
  test("counts are grouped", () => expect(count(1234567)).toBe("1,234,567"));
  test("nouns have a number", () => expect([counted(1, "row"), counted(1000, "row")]).toEqual(["1 row", "1,000 rows"]));
  test("shares", () => expect([percent(1, 0), percent(1, 3), percent(1, 100)]).toEqual(["—", "33 %", "1.0 %"]));
  test("passed time", () => {
    const now = Date.parse("2026-01-02T00:00:00Z");
    expect(ago("2026-01-01T23:57:00Z", now)).toBe("3 min ago");
    expect(ago("nonsense", now)).toBe("—");
  });
  test("one line", () => expect(oneLine("a\n  b   c", 4)).toBe("a b…"));
});

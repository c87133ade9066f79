"""English names of zones, as Java writes and reads them."""

from __future__ import annotations

_HOUR = 3600

NAMES: tuple[tuple[str, float, str, str], ...] = (
    ("ACDT", 10.5, "Australian Central Daylight Time", "Australia/Adelaide"),
    ("ACST", 9.5, "Australian Central Standard Time", "Australia/Adelaide"),
    ("ADT", -3, "Atlantic Daylight Time", "America/Halifax"),
    ("AEDT", 11, "Australian Eastern Daylight Time", "Australia/Sydney"),
    ("AEST", 10, "Australian Eastern Standard Time", "Australia/Sydney"),
    ("AKDT", -8, "Alaska Daylight Time", "America/Anchorage"),
    ("AKST", -9, "Alaska Standard Time", "America/Anchorage"),
    ("AST", -4, "Atlantic Standard Time", "America/Halifax"),
    ("AWST", 8, "Australian Western Standard Time", "Australia/Perth"),
    ("BST", 1, "British Summer Time", "Europe/London"),
    ("CAT", 2, "Central Africa Time", "Africa/Maputo"),
    ("CDT", -5, "Central Daylight Time", "America/Chicago"),
    ("CDT", -4, "Cuba Daylight Time", "America/Havana"),
    ("CEST", 2, "Central European Summer Time", "Europe/Paris"),
    ("CET", 1, "Central European Standard Time", "Europe/Paris"),
    ("CST", -6, "Central Standard Time", "America/Chicago"),
    ("CST", -5, "Cuba Standard Time", "America/Havana"),
    ("CST", 8, "China Standard Time", "Asia/Shanghai"),
    ("ChST", 10, "Chamorro Standard Time", "Pacific/Guam"),
    ("EAT", 3, "East Africa Time", "Africa/Nairobi"),
    ("EDT", -4, "Eastern Daylight Time", "America/New_York"),
    ("EEST", 3, "Eastern European Summer Time", "Europe/Bucharest"),
    ("EET", 2, "Eastern European Standard Time", "Europe/Bucharest"),
    ("EST", -5, "Eastern Standard Time", "America/New_York"),
    ("GMT", 0, "Greenwich Mean Time", "GMT"),
    ("HDT", -9, "Hawaii-Aleutian Daylight Time", "America/Adak"),
    ("HKT", 8, "Hong Kong Standard Time", "Asia/Hong_Kong"),
    ("HST", -10, "Hawaii-Aleutian Standard Time", "Pacific/Honolulu"),
    ("IDT", 3, "Israel Daylight Time", "Asia/Jerusalem"),
    ("IST", 1, "Irish Standard Time", "Europe/Dublin"),
    ("IST", 2, "Israel Standard Time", "Asia/Jerusalem"),
    ("IST", 5.5, "India Standard Time", "Asia/Kolkata"),
    ("JST", 9, "Japan Standard Time", "Asia/Tokyo"),
    ("KST", 9, "Korean Standard Time", "Asia/Seoul"),
    ("MDT", -6, "Mountain Daylight Time", "America/Denver"),
    ("MSK", 3, "Moscow Standard Time", "Europe/Moscow"),
    ("MST", -7, "Mountain Standard Time", "America/Denver"),
    ("NDT", -2.5, "Newfoundland Daylight Time", "America/St_Johns"),
    ("NST", -3.5, "Newfoundland Standard Time", "America/St_Johns"),
    ("NZDT", 13, "New Zealand Daylight Time", "Pacific/Auckland"),
    ("NZST", 12, "New Zealand Standard Time", "Pacific/Auckland"),
    ("PDT", -7, "Pacific Daylight Time", "America/Los_Angeles"),
    ("PKT", 5, "Pakistan Standard Time", "Asia/Karachi"),
    ("PST", -8, "Pacific Standard Time", "America/Los_Angeles"),
    ("PST", 8, "Philippine Standard Time", "Asia/Manila"),
    ("SAST", 2, "South Africa Standard Time", "Africa/Johannesburg"),
    ("SST", -11, "Samoa Standard Time", "Pacific/Pago_Pago"),
    ("UTC", 0, "Coordinated Universal Time", "UTC"),
    ("WAT", 1, "West Africa Standard Time", "Africa/Lagos"),
    ("WEST", 1, "Western European Summer Time", "Europe/Lisbon"),
    ("WET", 0, "Western European Standard Time", "Europe/Lisbon"),
    ("WIB", 7, "Western Indonesia Time", "Asia/Jakarta"),
    ("WIT", 9, "Eastern Indonesia Time", "Asia/Jayapura"),
    ("WITA", 8, "Central Indonesia Time", "Asia/Makassar"),
)
"""Short name, hours from UTC, long name, and a zone of that name."""

LONG_NAMES = {(short, round(hours * _HOUR)): long for short, hours, long, _ in NAMES}
"""Short name and seconds from UTC -> long name, since several zones may share a short name."""

_READ_AS = {"AST": "America/Halifax", "CST": "America/Chicago", "IST": "Asia/Kolkata", "PST": "America/Los_Angeles"}
ZONES_OF_NAMES = {**{short.upper(): zone for short, _, _, zone in NAMES}, "CDT": "America/Chicago", **_READ_AS}
"""Short name in upper case -> the zone that it is read as."""

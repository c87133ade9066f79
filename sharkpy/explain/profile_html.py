"""Profile of a statement as one HTML file, which a browser shows without a server and without a network."""

from __future__ import annotations

from pathlib import Path

from sharkpy.base.errors import ConfigurationError

PAGE = Path(__file__).parents[1] / "web" / "static" / "profile.html"
"""The page without a profile, which `make page` builds."""
_PLACE = '<script type="application/json" id="profile">'
_ESCAPED = str.maketrans({one: f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"})
"""Characters in JSON's strings that could end the script element, or a line of a script."""


def profile_page() -> str:
    """Return the page without a profile. Raise ConfigurationError if this installation has none."""
    try:
        return PAGE.read_text(encoding="utf-8")
    except OSError:
        raise ConfigurationError(
            "the page of profiles is not built", hint="run `make page` in the clone of sharkpy, or use FORMAT JSON"
        ) from None


def profile_html(page: str, profile: str) -> str:
    """Return `page` with a profile, which is given as JSON text."""
    before, place, after = page.partition(_PLACE)
    return f"{before}{place}{profile.translate(_ESCAPED)}{after}"

"""A browser in plain words.

Responsible for naming the program and the system that a browser says it is. Leaves when it was seen
to ``session``. Invariant: only words of ours are returned, because a browser can say anything.
"""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "a program that does not say what it is"
# In this order: most browsers also name the ones that they are like.
_PROGRAMS: Final = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"), ("CriOS/", "Chrome"), ("Safari/", "Safari"), ("curl/", "curl"),
)  # fmt: skip
_SYSTEMS: Final = (
    ("iPhone", "an iPhone"), ("iPad", "an iPad"), ("Android", "Android"), ("Windows", "Windows"),
    ("CrOS", "ChromeOS"), ("Mac OS X", "a Mac"), ("Linux", "Linux"),
)  # fmt: skip


def browser(says: str) -> str:
    """A browser by what it sends as its User-Agent."""
    program = next((name for sign, name in _PROGRAMS if sign in says), None)
    system = next((name for sign, name in _SYSTEMS if sign in says), None)
    if program is None:
        return UNKNOWN if system is None else f"a browser on {system}"
    return program if system is None else f"{program} on {system}"

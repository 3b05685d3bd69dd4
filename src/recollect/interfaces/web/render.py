"""Templates.

Responsible for how a value becomes text on a page. Leaves what is shown to ``pages``. Invariants:
every value is escaped, whatever its template is called; every character that cannot be seen or that
turns the direction of a text is shown as a mark; a name that a view lacks is an error, not a gap.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from recollect.interfaces.web.asked import Asked
from recollect.interfaces.web.draw import times
from recollect.interfaces.web.layout import Layout
from recollect.model.counts import counted
from recollect.model.visible import pieces, shown
from recollect.store.seam import REAL

LIST_MAX_CHARS: Final = 280
PAGE_MAX_CHARS: Final = 20_000
GLYPHS: Final = {
    "person": ("●", "a person"),
    "agent": ("◐", "the agent"),
    "unverified": ("○", "unverified"),
    "system": ("◇", "the store"),
}
_MARK: Final = Markup('<span class="unseen">%s</span>')
_HERE: Final = Path(__file__).parent


def page(template: str, layout: Layout, asked: Asked | None, **values: object) -> bytes:
    """A page as bytes."""
    text = environment().get_template(template).render(layout=layout, asked=asked, **values)
    return text.encode("utf-8", "replace")


@cache
def environment() -> Environment:
    """The templates and their filters."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        seen=seen, exact=exact, clip=clip, count=count, trust=trust, moment=moment, day=day,
        clock=clock, full=full, figure=figure, percent=percent, counted=counted, ticked=ticked,
    )  # fmt: skip
    made.globals.update(command=lambda: REAL.random(8).hex(), PAGE_MAX_CHARS=PAGE_MAX_CHARS)
    return made


def _printed(value: Any) -> Any:
    """The last step of every value that is printed."""
    if value is None:
        return ""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def seen(value: object) -> Markup:
    """A value of a memory: apart from the text around it, with boxes for hidden characters."""
    text = str(value)
    if shown(text) == text:  # most are plain
        return Markup(f"<bdi>{escape(text)}</bdi>")  # noqa: S704 - escaped
    out = [_MARK % text if is_mark else escape(text) for text, is_mark in pieces(text)]
    return Markup("<bdi>%s</bdi>") % Markup().join(out)


def ticked(value: str) -> Markup:
    """A sentence of ours in which commands stand between backticks."""
    parts = [seen(part) for part in value.split("`")]
    for place in range(1, len(parts), 2):
        parts[place] = Markup("<code>%s</code>") % parts[place]
    return Markup().join(parts)


def exact(value: str) -> Markup:
    """A text exactly as it is stored, for the field of a form."""
    return escape(value)


def clip(value: str, most: int = LIST_MAX_CHARS) -> str:
    """A text of a list, cut at the last word that fits."""
    if len(value) <= most:
        return value
    head, space, _ = value[: most + 1].rpartition(" ")
    return f"{head if space and len(head) > most // 2 else value[:most]} …"


def count(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"


def figure(value: float) -> str:
    """A number between 0 and 1, or a score, with two digits."""
    return f"{value:.2f}"


def percent(value: float) -> int:
    """A number between 0 and 1 as the class of a width, w0 to w100."""
    return max(0, min(100, round(100 * value)))


def trust(value: str | None) -> Markup:
    """The glyph of a trust or an origin, with its word for those who hear the page."""
    sign, word = GLYPHS.get(value or "", ("·", value or "unknown"))
    return Markup('<span class="trust {}" title="{}" role="img" aria-label="{}">{}</span>').format(
        value if value in GLYPHS else "other", word, word, sign
    )


@pass_context
def moment(context: Context, at: str) -> Markup:
    """An instant, as exact as its distance asks for."""
    return _time(context, at, times.moment(at, *_clock(context)))


@pass_context
def day(context: Context, at: str) -> str:
    """A day, as a heading."""
    return times.day(at, *_clock(context))


@pass_context
def clock(context: Context, at: str) -> Markup:
    """A time of day."""
    return _time(context, at, times.clock(at, _clock(context)[1]))


@pass_context
def full(context: Context, at: str) -> str:
    """An instant to the second."""
    return times.full(at, _clock(context)[1])


def _time(context: Context, at: str, said: str) -> Markup:
    whole = times.full(at, _clock(context)[1])
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at, whole, said)


def _clock(context: Context) -> tuple[str, int]:
    asked = context.get("asked")
    return (asked.now, asked.tz_minutes) if isinstance(asked, Asked) else ("", 0)

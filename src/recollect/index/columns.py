"""The columns of a version and of a card, written into the SQL from ``VersionRow`` and ``Card``.

Responsible for the lists of columns that the `.sql` files would otherwise repeat: a script says
``/* columns: PART */``, and the list takes its place. Leaves everything else to those files.
Invariant: the fields of ``VersionRow`` are the columns of its table, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, get_args

from recollect.index.rows import KEPT, NOT_OF_RECORDS, Card, VersionRow

_MARK: Final = re.compile(r"/\* columns: ([a-z, ]+) \*/")
_NAMES: Final = VersionRow._fields
_TEXT: Final = _NAMES.index("text")
# What a column of a Python type is; everything else is text.
_KINDS: Final = {int: "INTEGER", float: "REAL"}
# Why a read leaves a record out: the rule of recall.visibility, for reads that must count what they
# show. Each word is a value of ``include``, or one of the two that are not.
_WHY_HIDDEN: Final = """CASE
      WHEN :everyone = 0 AND COALESCE(v."user", '') <> :user THEN 'others'
      WHEN v.until <= :at THEN 'replaced'
      WHEN v.status IN ('active', 'inbox') THEN CASE
        WHEN v.expires <= :now OR v.valid_from > :now OR v.valid_to <= :now THEN 'expired'
        ELSE 'shown' END
      WHEN v.status = 'archived' THEN CASE
        WHEN v.reason = 'superseded' THEN 'replaced' ELSE 'archived' END
      WHEN v.status = 'forgotten' THEN 'forgotten' ELSE 'waiting' END"""
# An event changes one subject, so it makes one version. A long text is kept once, and the other
# versions refer to it: see the view full_versions.
_RULES: Final = {"text": " CHECK (text IS NOT NULL OR seq <> text_seq)"}


def expand(script: str) -> str:
    """A script or statement with its lists of columns."""
    return _MARK.sub(lambda mark: _PARTS[mark[1]](), script)


def _defined() -> str:
    lines = []
    for name, annotation in VersionRow.__annotations__.items():
        kind = _KINDS.get(annotation, "TEXT")
        null = "" if type(None) in get_args(annotation) or name == "text" else " NOT NULL"
        rule = " PRIMARY KEY" if name == "seq" else null
        lines.append(f"{_quoted(name)} {kind}{rule}{_RULES.get(name, '')}")
    return ",\n  ".join(lines)


def _listed(names: Iterable[str], table: str = "") -> str:
    return ", ".join(f"{table}{_quoted(name)}" for name in names)


def _of_card(name: str) -> str:
    return f"NULL AS {name}" if name in NOT_OF_RECORDS else f"v.{_quoted(name)}"


def _of_kept_card(name: str) -> str:
    return f"{KEPT[name]} AS {name}" if name in KEPT else _of_card(name)


def _quoted(name: str) -> str:
    return '"user"' if name == "user" else name


_PARTS: Final[dict[str, Callable[[], str]]] = {
    "defined": _defined,
    "names": lambda: _listed(_NAMES),
    "digested": lambda: _listed(_NAMES[:-1]),  # see index.digest
    "values": lambda: ", ".join("?" * len(_NAMES)),
    "v before text": lambda: _listed(_NAMES[:_TEXT], "v."),
    "v after text": lambda: _listed(_NAMES[_TEXT + 1 :], "v."),
    "why v is hidden": lambda: _WHY_HIDDEN,
    "card of v": lambda: ", ".join(map(_of_card, Card._fields[:-1])),
    "card of v and t": lambda: ", ".join(map(_of_kept_card, Card._fields[:-1])),
}

"""Names that are not commands: former ones, those of other programs, and mistyped ones.

Responsible for the command line to type instead. Leaves finding commands to ``commands``.
Invariant: what is suggested is a command; nothing that was typed is run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Final

from recollect.interfaces.cli.commands import TOP, Found, Group, every, find
from recollect.interfaces.cli.declare import UsageError

Words = Sequence[str]
Now = str | Callable[[Words], Words]  # the words before the rest, or what becomes of the rest


def _without(words: Words, *flags: str) -> list[str]:
    return [word for word in words if word not in flags]


def _supersede(rest: Words) -> Words:
    id, *more = rest or ["ID"]
    text, more = (more[0], more[1:]) if more and not more[0].startswith("-") else ("TEXT", more)
    return ["remember", text, "--replaces", id, *more]


def _settle(rest: Words) -> Words:
    verdict = "refute" if "--fails" in rest else "confirm"
    return ["review", verdict, *_without(rest, "--holds", "--fails")]


def _retain(rest: Words) -> Words:
    if "--keep" not in rest:
        return ["erase", "--expired", *rest]
    return ["settings", "retention", *_without(rest, "--keep")]


def _tag(rest: Words) -> Words:
    """``tag ID WORD... --remove WORD``: a word behind an option is its value."""
    found = ["revise"]
    for place, word in enumerate(rest):
        is_name = place > 0 and not word.startswith("-") and not rest[place - 1].startswith("-")
        found += ["--tag", word] if is_name else ["--untag" if word == "--remove" else word]
    return found


def _link(rest: Words) -> Words:
    return ["graph", "unlink" if "--remove" in rest else "link", *_without(rest, "--remove")]


def _replay(rest: Words) -> Words:
    receipt, *more = rest or ["RECEIPT"]
    return ["context", "--replay", receipt, *_without(more, "--query")]


def _review(rest: Words) -> Words:
    for flag, verdict in (("--approve", "approve"), ("--reject", "reject")):
        if flag in rest:
            return ["review", verdict, *_without(rest, flag)]
    return ["review", "show", *rest]


FORMER: Final[dict[tuple[str, ...], Now]] = {
    ("supersede",): _supersede,
    ("revert",): "undo",
    ("restore",): "undo",
    ("retract",): lambda rest: ["forget", *(rest or ["ID"]), "--derived"],
    ("settle",): _settle,
    ("retain",): _retain,
    ("curate",): "admin archive",
    ("tag",): _tag,
    ("link",): _link,
    ("path",): "graph path",
    ("replay",): _replay,
    ("recent",): "list --recent",
    ("consolidate",): "settings rule run",
    ("frame",): "settings preset",
    ("rule",): "settings rule",
    ("page",): "pages",
    ("branch",): "branches",
    ("session",): "sessions",
    ("sync",): "pages sync",
    ("job",): "admin job",
    ("schedule",): "admin schedule",
    ("model",): "admin model",
    ("seal",): "admin close-segment",
    ("admin", "seal"): "admin close-segment",
    ("admin", "key"): "proof key",
    ("admin", "witness"): "proof witness",
}
# What people type first, and the command that does it.
OTHER_WORDS: Final[dict[str, Now]] = {
    **dict.fromkeys(("search", "find", "query", "ask", "get"), "recall"),
    **dict.fromkeys(("add", "save", "store", "note", "new", "set"), "remember"),
    **dict.fromkeys(("delete", "remove", "rm", "del"), "forget"),
    **dict.fromkeys(("update", "edit", "correct", "change"), "revise"),
    "replace": _supersede,
    **dict.fromkeys(("ls", "all"), "list"),
    **dict.fromkeys(("history", "view", "cat", "why"), "show"),
    **dict.fromkeys(("stats", "info", "where"), "status"),
    **dict.fromkeys(("check", "repair", "fix"), "admin doctor"),
    **dict.fromkeys(("server", "service", "api", "http"), "serve"),
    **dict.fromkeys(("web", "browse", "inspect", "dashboard"), "ui"),
    **dict.fromkeys(("setup", "install"), "mcp install"),
    **dict.fromkeys(("pending", "queue"), "review"),
    **dict.fromkeys(("copy", "save-to"), "admin backup"),
    "version": "--version",
}
_ALSO: Final = {"forget": "erase"}  # what a person may have meant as well


def unknown(found: Found) -> UsageError:
    """What to say of the first word that is left."""
    word, *rest = found.rest
    line = " ".join((*found.path, word))
    now = FORMER.get((*found.path, word))
    if now is not None:
        return UsageError(f"{line!r} has another name now", _use(_lines(now, rest)))
    if found.path in (("review",), ("graph",)):
        now = _review if found.path == ("review",) else "graph show"
        hint = _use(_lines(now, found.rest)) or ""
        return UsageError(f"unknown command {line!r}", f"for what has this id, {hint}")
    lines = _lines(OTHER_WORDS[word], rest) if not found.path and word in OTHER_WORDS else None
    lines = lines or _elsewhere(word, rest) or _mistyped(found, word, rest)
    help = " ".join(("recollect", "help", *found.path))
    return UsageError(
        f"unknown command {line!r}", _use(lines) or f"run `{help}` to see what there is"
    )


def _use(lines: Sequence[Words]) -> str:
    """``use `recollect a` or `recollect b```; empty without any."""
    told = [f"`recollect {shlex.join(words)}`" for words in lines]
    return f"use {' or '.join(told)}" if told else ""


def _lines(now: Now, rest: Words) -> list[list[str]]:
    if callable(now):
        return [list(now(rest))]
    both = [now, _ALSO[now]] if now in _ALSO else [now]
    return [[*each.split(), *rest] for each in both]


def _elsewhere(word: str, rest: Words) -> list[list[str]]:
    """The commands of groups that have this name."""
    names = [path for path, entry in every() if path[-1] == word and len(path) > 1]
    return [[*path, *rest] for path in names[:3]]


def _mistyped(found: Found, word: str, rest: Words) -> list[list[str]]:
    """The nearest name in the same group, else in any."""
    group = found.entry if isinstance(found.entry, Group) else TOP
    for names in (
        {name: (*found.path, name) for name in group.commands},
        {path[-1]: path for path, _ in every()},
    ):
        near = get_close_matches(word, names, n=1, cutoff=0.7)
        if near:
            return [[*names[near[0]], *rest]]
    return []


def is_command(words: Words) -> bool:
    """True if these words begin with a command or a group."""
    return bool(find(words).path)

"""Writes the calls of the client from those of the plain API and the table of operations.

    python -m tools.client_api           writes src/recollect/client/calls/
    python -m tools.client_api --check   fails if what is there differs

Responsible for one method for each public method of the groups that ``Memory`` is made of: the same
signature, one request. Leaves what a request cannot derive from its
signature to ``client``, which is written by hand. Invariants: a generated module holds nothing that
its plain module and the table do not say; a call without an operation says what to do instead.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from recollect.interfaces.http.requests import _lists
from recollect.interfaces.http.routes import TABLE
from tools import async_api
from tools.async_api import GROUPS, ROOT, Method

TARGET: Final = ROOT / "src/recollect/client/calls"
_SPACE: Final = "/v1/spaces/{space}"

# Calls whose operation has another name; the others have their own. Of ``memory.presets`` and the
# other parts all are listed.
NAMES: Final = {
    "admin": {
        "verify": "verify", "check": "check", "digest": "digest", "flush": "flush",
        "archive": "archive", "why_not": "why_not",
    },
    "events": {"list": "events", "get": "event"},
    "links": {
        "link": "link", "unlink": "unlink", "list": "graph", "neighbours": "neighbours",
        "path": "path",
    },
    "proofs": {
        "checkpoint": "checkpoint", "prove": "prove", "audit": "audit",
        "check_certificate": "check_certificate", "erasures": "erasures",
    },
    "settings": {
        "retention": "retention", "set_retention": "set_retention", "subjects": "subjects",
        "set_subjects": "set_subjects",
    },
    "presets": {
        "list": "list_presets", "get": "get_preset", "since": "preset_since", "set": "set_preset",
        "drop": "drop_preset",
    },
    "receipts": {"list": "list_receipts", "get": "get_receipt", "erase": "erase_receipt"},
    "documents": {
        "list": "list_documents", "get": "get_document", "set": "set_document",
        "drop": "drop_document",
    },
    "rules": {
        "list": "list_rules", "get": "get_rule", "set": "set_rule", "drop": "drop_rule",
        "due": "list_rules",
    },
    "sessions": {
        "open": "open_session", "close": "close_session", "list": "list_sessions",
        "active": "list_sessions", "episodes": "list_episodes", "recent": "recent",
        "overview": "overview",
    },
    "review": {
        "propose": "propose", "list": "list_review", "show": "get_review", "approve": "approve",
        "reject": "reject", "confirm": "confirm", "refute": "refute", "withdraw": "withdraw",
        "erase": "erase_proposal",
    },
    "branches": {
        "open": "open_branch", "list": "list_branches", "show": "get_branch",
        "diff": "branch_diff", "merge": "merge", "abandon": "abandon", "condense": "condense",
        "erase": "erase_branch",
    },
    "pages": {"list": "list_pages", "read": "read_page"},
}  # fmt: skip
# Where a memory has a group, if it is not called as its module is.
DOORS: Final = {
    "links": "graph", "proofs": "proof", "receipts": "proof.receipts", "presets":
    "settings.presets", "rules": "settings.rules", "documents": "settings.documents",
}  # fmt: skip
# Calls that are written by hand, because their arguments are not those of their operation.
BY_HAND: Final = {
    "writing": {"observe", "batch"},
    "reading": {"get", "list", "recall", "status"},
    "contexts": {"used", "replay"},
    "admin": {"verify"},
    "events": {"list", "submit", "tail", "wait"},
    "receipts": {"list"},
    "presets": {"set"},
    "documents": {"set"},
    "rules": {"due"},
    "sessions": {"active", "episodes"},
}
# Groups by hand as a whole: several requests for one call, or another for each kind of argument.
BY_HAND_WHOLE: Final = ("tokens", "jobs", "leaving")
# Names in a path that are called otherwise in the plain API, and answers inside a value.
RENAMED: Final = {("receipts", "get"): {"id": "receipt"}, ("receipts", "erase"): {"id": "receipt"}}
INSIDE: Final = {
    ("presets", "since"): "since", ("settings", "retention"): "days",
    ("settings", "subjects"): "who", ("admin", "digest"): "digest", ("pages", "read"): "text",
    ("sessions", "close"): "session",
}  # fmt: skip
# Functions of the caller, which cannot be sent.
LOCAL: Final = frozenset({"counter", "proposer"})
IGNORED: Final = frozenset({"progress"})  # nobody tells the client how far a call is
# Names in signatures that the plain API has from packages which the client does not load.
KINDS: Final = frozenset({"Act", "Counter", "Direction", "Expect", "Progress", "Proposer", "Who"})


def operations() -> str:
    """The text of the module with the operations that the calls use."""
    rows = []
    for row in TABLE:
        path = row.path.removeprefix(_SPACE)
        if path == row.path or row.name.startswith("_"):
            continue
        query = () if row.query is None else row.query.__struct_fields__
        lists = () if row.query is None else _lists(row.query)
        names = [f"{name}*" if name in lists else name for name in query if name != "at"]
        marks = {"write": row.is_write, "body": row.takes is not None, "past": "at" in query}
        words = [word for word, holds in marks.items() if holds]
        rows.append(" | ".join([row.name, row.method, path or "/", *map(" ".join, (names, words))]))
    return async_api.formatted(
        "\n".join([_WARNING, _TABLE_HEAD, *map(str.rstrip, rows), _TABLE_END])
    )


_WARNING: Final = async_api.WARNING.format(maker="client_api", source="interfaces/http/routes.py")
_TABLE_HEAD: Final = '''"""The operations on one memory.

Responsible for method, path and parameters of each. Leaves sending to ``client.asking``.
Invariant: it is written from the table of the service.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Operation(NamedTuple):
    """One operation."""

    method: str
    path: str
    query: tuple[str, ...]
    lists: frozenset[str]  # the parameters that may be given several times
    is_write: bool
    has_body: bool
    has_past: bool


# Name, method, path, parameters, and whether it writes, takes a body and can show the past.
_TABLE: Final = """
'''
_TABLE_END: Final = '''"""


def _parsed(line: str) -> tuple[str, Operation]:
    name, method, path, query, marks = (part.strip() for part in (line + " | | ").split("|")[:5])
    names = query.split()
    lists = frozenset(each[:-1] for each in names if each.endswith("*"))
    is_, path = marks.split(), "" if path == "/" else path
    plain = tuple(each.rstrip("*") for each in names)
    return name, Operation(method, path, plain, lists, "write" in is_, "body" in is_, "past" in is_)


OPERATIONS: Final = dict(_parsed(line) for line in _TABLE.splitlines() if line.strip())
'''


def generated(module: str) -> str:
    """The text of one module of calls."""
    source = async_api.plain(module).read_text("utf-8")
    tree = ast.parse(source)
    group, _ = GROUPS[module]
    methods = [
        method
        for method in async_api._public(async_api._class(tree, group))
        if method.name not in BY_HAND.get(module, ()) and not async_api._is_property(method)
    ]
    names = {name for method in methods for name in async_api._names(method)}
    text = "\n\n".join(
        [
            async_api.WARNING.format(maker="client_api", source=f"memory/{module}.py"),
            _HEAD.format(module=module),
            "\n".join(["from __future__ import annotations", "", *_imports(tree, names)]),
            "\n".join(async_api.aliases(source, tree, names)),
            f'class {group}(Calls):\n    """{async_api._doc(async_api._class(tree, group))}"""',
            *(_method(source, module, method) for method in methods),
        ]
    )
    return async_api.formatted(text)


_HEAD: Final = '''"""The calls of ``memory.{module}`` as requests.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and meaning are the same.
"""'''


def _imports(tree: ast.Module, names: set[str]) -> Iterator[str]:
    yield from async_api.imports(tree, names - KINDS - {"Calls"})
    if kinds := sorted(names & KINDS):
        yield f"from recollect.client.kinds import {', '.join(kinds)}"
    yield "from recollect.client.asking import Calls"


def _method(source: str, module: str, method: Method) -> str:
    """The signature as it is written, the first line of its words, and one request."""
    lines = source.splitlines()
    document = method.body[0]
    shown = [
        line.replace(": Calls,", ": object,")  # another memory cannot be sent
        for line in lines[method.lineno - 1 : document.lineno - 1]
    ]
    first, *more = async_api._doc(method).splitlines()
    words = [f'        """{first}"""']
    if more:
        call = _called(module, method)
        words = [
            f'        """{first}',
            "",
            f"        It is ``recollect.Memory.{call}``.",
            '        """',
        ]
    return "\n".join([*shown, *words, *_body(module, method)])


def _called(module: str, method: Method) -> str:
    """What a caller writes after ``memory.``."""
    door = DOORS.get(module, module)
    return f"{door}.{method.name}" if module in NAMES else method.name


def _body(module: str, method: Method) -> Iterator[str]:
    name = NAMES.get(module, {}).get(method.name, method.name if module not in NAMES else "")
    row = next((row for row in TABLE if row.name == name), None)
    if row is None:
        yield f'        raise self._unsupported("{_called(module, method)}")'
        return
    renamed = RENAMED.get((module, method.name), {})
    fields, options = [], []
    for one in [*method.args.args[1:], *method.args.kwonlyargs]:
        if one.arg in LOCAL:
            yield f"        self._refuse_own({one.arg!r}, {one.arg})"
        elif one.arg in ("idempotency_key", "expect"):
            options.append(f"{one.arg}={one.arg}")
        elif one.arg not in IGNORED:
            fields.append(f"{renamed.get(one.arg, one.arg)!r}: {one.arg}")
    nulls = [
        one.arg
        for one, default in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True)
        if default is not None and ast.unparse(default) == "UNSET"
    ]
    if nulls:
        options.append(f"nulls={tuple(nulls)!r}")
    flags = [
        one.arg
        for one in [*method.args.args, *method.args.kwonlyargs]
        if one.annotation is not None and ast.unparse(one.annotation) in ("bool", "bool | None")
    ]
    if flags:
        options.append(f"flags={tuple(flags)!r}")
    if method.args.vararg is not None:
        fields.append(f"{method.args.vararg.arg!r}: {method.args.vararg.arg}")
    answer = ast.unparse(method.returns) if method.returns else "None"
    inside = INSIDE.get((module, method.name))
    if inside is not None:
        options.append(f"inside={inside!r}")
    call = f"self._do({', '.join([repr(name), answer, '{' + ', '.join(fields) + '}', *options])})"
    if answer == "None":
        yield f"        {call}"
    else:
        yield f"        answer: {answer} = {call}"
        yield "        return answer"


def written() -> dict[Path, str]:
    """Every generated file with its text."""
    of_memory = [module for module in GROUPS if module not in BY_HAND_WHOLE and module != "doors"]
    files = {TARGET / f"{module}.py": generated(module) for module in of_memory}
    return {**files, TARGET.parent / "operations.py": operations()}


def stale() -> list[str]:
    """The generated files that differ from what would be written now."""
    return [
        path.stem
        for path, text in written().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def main() -> None:
    """Writes, or checks."""
    if "--check" in sys.argv[1:]:
        if found := stale():
            sys.exit(f"out of date: {', '.join(found)}; run `make async`")
        return
    for path, text in written().items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

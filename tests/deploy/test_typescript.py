"""What the TypeScript client shares with the rest; `make typescript` tests it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from recollect import __version__, errors
from recollect.client import transport

CLIENT = Path(__file__).resolve().parents[2] / "clients/typescript"


def test_errors_are_those_of_python() -> None:
    source = (CLIENT / "src/errors.ts").read_text("utf-8")
    found = dict(
        re.findall(
            r'class (\w+) extends \w+ \{\s*static override readonly code\S* .*?"(\w+)"', source
        )
    )
    kinds = {
        name: kind.code
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.RecollectError)
    }
    assert len(kinds) > 10
    assert {**found, "RecollectError": "error"} == kinds
    also = dict(re.findall(r'\["(\w+)", (\w+)\]', source))
    assert {
        name: transport._ERRORS[name].__name__ for name in also if name in transport._ERRORS
    } == {name: kind for name, kind in also.items() if name in transport._ERRORS}


def test_it_has_the_same_release() -> None:
    package = msgspec.json.decode((CLIENT / "package.json").read_bytes())
    lock = (CLIENT / "package-lock.json").read_bytes()
    assert package["version"] == msgspec.json.decode(lock)["version"] == __version__
    assert "dependencies" not in package
    assert b'"resolved"' not in lock  # the address of a registry
    assert lock.count(b'"integrity": "sha512-') > 20

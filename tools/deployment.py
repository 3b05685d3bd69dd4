"""Reads the files of deploy/, for what tries them.

Responsible for their parts. Leaves what they mean to Docker, Compose and Kubernetes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each on one line."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    whole = re.sub(r"\\\n\s*", "", "\n".join(x for x in text.splitlines() if x[:1] != "#"))
    return [
        (name, rest) for name, _, rest in (x.partition(" ") for x in whole.splitlines()) if name
    ]


def words(name: str) -> list[str]:
    """The words of the last instruction of this name, which is in the form of a list."""
    rest = [rest for kind, rest in instructions() if kind == name][-1]
    found: list[str] = msgspec.json.decode(rest[rest.index("[") :])
    return found


def variables() -> dict[str, str]:
    """What the Dockerfile's ENV sets."""
    pairs = (pair for kind, rest in instructions() if kind == "ENV" for pair in shlex.split(rest))
    return dict(pair.split("=", 1) for pair in pairs)


def manifests() -> Iterator[Any]:
    """The Kubernetes objects."""
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield msgspec.yaml.decode(path.read_bytes())


def compose(**given: str) -> Any:
    """The compose file, with these variables."""
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda match: given[match[1]], text)
    return msgspec.yaml.decode(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text))

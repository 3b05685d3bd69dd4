"""Both APIs have the same calls: names, parameters, annotations, return values, first lines."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect import AsyncMemory, AsyncStore, Memory, Store
from recollect.aio import (
    AsyncAdmin,
    AsyncBranches,
    AsyncDocuments,
    AsyncEvents,
    AsyncJobs,
    AsyncLinks,
    AsyncMemorySettings,
    AsyncPages,
    AsyncPresets,
    AsyncProofs,
    AsyncReceipts,
    AsyncReview,
    AsyncRules,
    AsyncSessions,
    AsyncTokens,
)
from recollect.memory.admin import Admin
from recollect.memory.branches import Branches
from recollect.memory.contexts.presets import Presets
from recollect.memory.contexts.receipts import Receipts
from recollect.memory.documents import Documents
from recollect.memory.events import Events
from recollect.memory.graph.links import Links
from recollect.memory.jobs.jobs import Jobs
from recollect.memory.pages.pages import Pages
from recollect.memory.proof.proofs import Proofs
from recollect.memory.review import Review
from recollect.memory.rules.rules import Rules
from recollect.memory.sessions import Sessions
from recollect.memory.settings import MemorySettings
from recollect.memory.tokens import Tokens
from tools import async_api

NOT_ASYNC = set(
    """
    admin batch branches documents entered events presets graph jobs name pages proof receipts
    review rules scope scoped sessions settings tokens trust where
    """.split()
)  # no I/O of their own
OWN = {"run"}  # several calls in one hop: only the async API has hops
ANSWERS = {"batch": "AsyncIterator[Batch]", "position": "Awaitable[int]"}  # instead of the plain


CLASSES = [
    (Memory, AsyncMemory),
    (Store, AsyncStore),
    (Admin, AsyncAdmin),
    (Events, AsyncEvents),
    (Links, AsyncLinks),
    (Proofs, AsyncProofs),
    (MemorySettings, AsyncMemorySettings),
    (Documents, AsyncDocuments),
    (Presets, AsyncPresets),
    (Receipts, AsyncReceipts),
    (Rules, AsyncRules),
    (Sessions, AsyncSessions),
    (Review, AsyncReview),
    (Branches, AsyncBranches),
    (Pages, AsyncPages),
    (Tokens, AsyncTokens),
    (Jobs, AsyncJobs),
]


def public(api: type) -> dict[str, object]:
    whole = {name: value for part in reversed(api.__mro__) for name, value in vars(part).items()}
    return {name: value for name, value in whole.items() if not name.startswith("_")}


def function(member: object) -> object:
    """The function inside a property or a class method."""
    if isinstance(member, property):
        return member.fget
    return getattr(member, "__func__", member)


def async_words(annotation: str) -> str:
    annotation = re.sub(r"\bFollowing\b", "AsyncIterator[Change]", annotation)
    groups = (
        "Admin|Branches|Calls|Documents|Events|Presets|Jobs|Links|Memory|MemorySettings|Pages|Proofs|"
        "Receipts|Review|Rules|Sessions|Store|Tokens"
    )
    return re.sub(rf"\b({groups})\b", r"Async\1", annotation)


def first_line(member: object) -> str:
    return (inspect.getdoc(member) or "").partition("\n")[0]


def shape(name: str, member: object, *, plain: bool) -> object:
    """What a caller sees of one call."""
    signature = inspect.signature(function(member))  # type: ignore[arg-type]
    words = async_words if plain else str
    answer = ANSWERS[name] if plain and name in ANSWERS else words(signature.return_annotation)
    answer = answer.replace("List[", "list[")  # one word, where `list` is a method
    return (
        type(member),
        [
            (p.name, p.kind, p.default, words(str(p.annotation)))
            for p in signature.parameters.values()
        ],
        answer,
        first_line(member),
    )


def differences(plain: type, other: type) -> list[str]:
    ours, theirs = public(other), public(plain)
    out = [
        f"{name}: only in one API"
        for name in sorted((ours.keys() - (OWN - theirs.keys())) ^ theirs.keys())
    ]
    for name in sorted(ours.keys() & theirs.keys()):
        wanted, found = (
            shape(name, theirs[name], plain=True),
            shape(name, ours[name], plain=False),
        )
        if wanted != found:
            out.append(f"{name}: {found} instead of {wanted}")
        call = function(ours[name])
        is_async = inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)
        if name not in {*NOT_ASYNC, "position"} and not is_async:
            out.append(f"{name}: is not async")
    return out


@pytest.mark.parametrize(("plain", "other"), CLASSES)
def test_both_apis_have_the_same_calls(plain: type, other: type) -> None:
    assert len(public(plain)) >= 3
    assert differences(plain, other) == []


def test_a_call_in_one_api_only_is_noticed() -> None:
    class More(Memory):
        def ponder(self) -> None:
            """Think."""

    vars_of_both = type("Both", (), {**public(Memory), **public(More)})
    assert differences(vars_of_both, AsyncMemory) == ["ponder: only in one API"]


def test_a_changed_parameter_answer_or_first_line_is_noticed() -> None:
    def why(self: Memory, id: str, *, deep: bool = False) -> None:
        """Where a record comes from: who said it, on what evidence, in place of what."""

    def close(self: Memory) -> None:
        """Something else."""

    changed = type("Changed", (), {**public(Memory), "why": why, "close": close})
    assert [line.partition(":")[0] for line in differences(changed, AsyncMemory)] == [
        "close",
        "why",
    ]


def test_the_awaited_face_is_loaded_when_asked_for() -> None:
    code = (
        "import sys, recollect; assert 'asyncio' not in sys.modules; "
        "recollect.AsyncMemory; assert 'asyncio' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(AttributeError):
        _ = recollect.NoSuchName  # type: ignore[attr-defined]


def test_the_generated_modules_are_up_to_date() -> None:
    assert async_api.stale() == []


def test_a_changed_signature_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a plain module with one more argument no longer fits its async module."""
    plain = tmp_path / "memory"
    shutil.copytree(async_api.PLAIN, plain, ignore=shutil.ignore_patterns("__pycache__"))
    presets = plain / "contexts" / "presets.py"
    presets.write_text(
        presets.read_text("utf-8").replace(
            "def get(self, name: str)", "def get(self, name: str, *, more: int = 0)"
        ),
        "utf-8",
    )
    monkeypatch.setattr(async_api, "PLAIN", plain)
    assert async_api.stale() == ["presets"]

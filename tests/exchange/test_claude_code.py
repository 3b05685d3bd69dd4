"""What was said in a transcript, and nothing that only looks like it."""

from __future__ import annotations

import json
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.exchange.injected import without_machinery, without_memory
from recollect.exchange.talks.claude_code import ClaudeCode
from recollect.exchange.talks.transcript import Message
from tests.assistants.session import INJECTED, SAID, SESSION, Session, handed_out, recorded, text


def read(session: Session, *, tool_results: bool = False, strip: bool = True) -> list[Message]:
    transcript = ClaudeCode(tool_results=tool_results, strip=strip)
    return list(transcript.read(line.encode() for line in session.lines))


def test_a_session_reads_as_what_was_said() -> None:
    found = read(recorded())
    assert [(message.role, message.text) for message in found] == SAID
    assert {message.session for message in found} == {SESSION}
    assert all(message.at and message.at.startswith("2026-11-14T09:") for message in found)
    assert len({message.id for message in found}) == len(found)


def test_the_same_lines_give_the_same_messages() -> None:
    assert read(recorded()) == read(recorded())
    grown = recorded()
    grown.user("One more thing about the port.")
    assert read(grown)[:-1] == read(recorded())


def test_results_of_tools_come_when_asked_for_and_never_our_own() -> None:
    found = [m.text for m in read(recorded(), tool_results=True) if m.role == "tool"]
    assert found[0] == "tool: Read\nport = 5433\nhost = 'db'"
    assert found[1] == "tool: mcp__recollect__recall"
    assert found[2].split() == ["tool", "failed:", "Bash", "line", "end"]


def test_what_was_handed_out_is_never_read_and_the_control_reads_it() -> None:
    assert not any(INJECTED in message.text for message in read(recorded(), tool_results=True))
    control = read(recorded(), tool_results=True, strip=False)
    assert sum(INJECTED in message.text for message in control) >= 3


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"type": "user"',
        b'{"type": "user", "uuid": "u", "message": {"content": "\\ud800"}}',
        b"[" * 100_000,
    ],
)
def test_a_bad_line_is_counted_and_the_rest_goes_on(bad: bytes) -> None:
    session = recorded()
    transcript = ClaudeCode()
    lines = [line.encode() for line in session.lines]
    found = list(transcript.read([*lines[:8], bad, b"", *lines[8:]]))
    assert [(message.role, message.text) for message in found] == SAID
    assert transcript.bad_lines == 1


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda s: (
            st.lists(s)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "uuid", "message", "content", "role", "text", "origin", "id"]
                ),
                s,
            )
        ),
    )
)
def test_no_line_of_json_stops_a_reading(value: object) -> None:
    for kind in ("user", "assistant"):
        entry = {"type": kind, "uuid": "u", "message": {"content": value}, "timestamp": value}
        list(ClaudeCode(tool_results=True).read([json.dumps(entry).encode()]))
        list(
            ClaudeCode().read([json.dumps({"type": kind, "uuid": "u", "message": value}).encode()])
        )


def test_ids_and_instants_from_outside_are_checked() -> None:
    entry = {
        "type": "user",
        "message": {"content": "hi\x00"},
        "timestamp": "soon",
        "uuid": "a b\n" * 99,
    }
    (message,) = ClaudeCode().read([json.dumps(entry).encode()])
    assert message.at is None
    assert message.id.isascii()
    assert len(message.id) < 120
    assert " " not in message.id
    assert message.text == "hi\ufffd"


BLOCK = handed_out()
ESCAPED = BLOCK.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
SPELLINGS = {
    "as it is": BLOCK,
    "capitals": BLOCK.replace("recollect>", "RecOllect>"),
    "blanks": BLOCK.replace("<recollect>", "< recollect\n>").replace("</r", "< / r"),
    "attributes": BLOCK.replace("<recollect>", '<recollect v="1">'),
    "HTML": ESCAPED,
    "HTML twice": ESCAPED.replace("&", "&amp;"),
    "numbers": BLOCK.replace("<", "&#60;").replace(">", "&#x3e;"),
    "JSON": json.dumps(BLOCK).replace("<", "\\u003c").replace(">", "\\u003e"),
    "JSON in JSON": json.dumps(json.dumps(BLOCK)[1:-1]),
    "nested": f"<recollect>{BLOCK}{INJECTED}</recollect>",
    "nested otherwise": f"<recollect>{ESCAPED}{INJECTED}</recollect>",
    "an escaped end inside": BLOCK.replace(INJECTED, f"&lt;/recollect> {INJECTED}"),
    "an escaped end inside, all escaped": BLOCK.replace(INJECTED, f"&lt;/recollect> {INJECTED}")
    .replace("&", "&amp;").replace("<", "&lt;"),
    "two": f"{BLOCK}\n{BLOCK}",
}  # fmt: skip


@pytest.mark.parametrize("block", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_block_is_taken_out_however_it_is_spelled(block: str) -> None:
    left = without_memory(f"before {block} after")
    assert INJECTED not in left
    assert left.startswith("before ")
    assert left.endswith(" after")


@pytest.mark.parametrize("block", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_a_block_that_is_cut_off_takes_the_rest_with_it(block: str) -> None:
    for end in range(block.lower().index("recollect") + 9, len(block), 7):
        assert INJECTED[:20] not in without_memory(f"before {block[:end]}")


def test_what_only_speaks_of_recollect_stays() -> None:
    for said in ("I recollect that.", "use <recollection>", "a < b; recollect", "<b>recollect</b>"):
        assert without_memory(said) == said
    assert without_memory("the </recollect> mark").split() == ["the", "mark"]


def test_what_the_program_adds_is_taken_out() -> None:
    said = "<system-reminder>\nx <b>\n</system-reminder>\nDo it.<ide_selection>y</ide_selection>"
    assert without_machinery(said).strip() == "Do it."
    assert without_machinery("Do it. <system-reminder> cut off") == "Do it. "
    assert without_machinery("a <b> c </b> <system>") == "a <b> c </b> <system>"


@pytest.mark.timing
@pytest.mark.parametrize(
    "piece", ["<recollect", "&amp;", "&" + "amp;" * 8, "<system-reminder>", "\\"]
)
def test_time_grows_with_length_alone(piece: str) -> None:
    def seconds(length: int) -> float:
        hostile = piece * (length // len(piece)) + " recollect"
        started = perf_counter()
        without_machinery(without_memory(hostile))
        return perf_counter() - started

    small = min(seconds(20_000) for _ in range(3))
    assert seconds(160_000) < 8 * 4 * small + 0.05


def test_blocks_without_text_are_ignored() -> None:
    session = Session()
    session.assistant({"type": "redacted_thinking", "data": "x"}, text(" "), {"type": "text"})
    session.user([])
    assert read(session) == []

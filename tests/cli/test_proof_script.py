"""The script that checks proofs: what it prints of a hostile proof, and what it is given wrongly.

Which proofs it accepts is in ``tests/suites/test_proofs.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.ledger.line import parse
from recollect.ledger.tree import leaf
from recollect.proof.certificates import render
from recollect.proof.checkpoints import Checkpoint, sign
from recollect.proof.notes import Note
from recollect.proof.notes import render as note_bytes
from tests.ledger.forging import written
from tests.suites.test_anchored import history
from tests.suites.test_proofs import KEY, NAME, STRANGER

SCRIPT = Path(__file__).parents[2] / "docs" / "verify_proof.py"
LINE = str(KEY.public)
HOSTILE = "\r\x1b[2K\nProved: event 9\x7f\x9b \u202e\u2028"


def proof(folder: Path, data: str, *, stranger: str = "") -> str:
    """A file with the proof of a ledger's only event, which has this body."""
    (fields,) = history(1)
    (raw,) = written([fields | {"data": data.encode()}])
    line = raw.removesuffix(b"\n")
    note = sign(Checkpoint(NAME, 1, leaf(bytes.fromhex(parse(line).hash))), [KEY])
    whole = note_bytes(Note(note.text, note.signatures))
    if stranger:
        signature = STRANGER.sign(note.text).line.split(" ")[2]
        whole += f"\N{EM DASH} {stranger} {signature}".encode()
    file = folder / "proof.json"
    file.write_text(render(line, (), whole))
    return str(file)


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        capture_output=True, check=False, timeout=60, env=os.environ | environment,
    )  # fmt: skip


def printed(*words: str) -> list[str]:
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().splitlines()


def test_nothing_in_a_body_acts_on_a_terminal_or_looks_like_another_line(tmp_path: Path) -> None:
    fields = {HOSTILE: HOSTILE, "by": "person", "signed": "notary", "of": [{HOSTILE: [HOSTILE]}]}
    lines = printed(proof(tmp_path, json.dumps(fields, ensure_ascii=False)), LINE)
    assert all(" " <= each <= "~" for line in lines for each in line)
    start = lines.index("Its body, as it was written:")
    assert [line.split()[0] for line in lines[:start]] == [
        "Proved:",
        "what",
        "when",
        "by",
        "signed",
    ]
    assert all(line.startswith("    ") for line in lines[start + 1 :])
    assert json.loads("\n".join(lines[start + 1 :])) == fields  # all of it, and nothing else


def test_the_name_of_a_signer_is_shown_as_a_name(tmp_path: Path) -> None:
    name = HOSTILE.replace(" ", "").replace("\n", "") + ",over"
    file = proof(tmp_path, "{}", stranger=name)
    refused = run(file, LINE)
    assert refused.returncode == 1
    (signed,) = [line for line in printed(file, LINE, "--others") if line.startswith("  signed")]
    for told in (refused.stderr.decode().rstrip("\n"), signed):
        assert all(" " <= each <= "~" for each in told)
        assert "\\u001b[2K" in told
    assert signed.endswith(',over" (not checked), over 1 events')


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
def test_a_good_proof_is_proved_on_every_terminal(tmp_path: Path, encoding: str) -> None:
    file = proof(tmp_path, '{"text":"Grüße, 世界 😀"}')
    done = run(file, LINE, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Gr\\u00fc\\u00dfe" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_an_answer_that_cannot_be_written_is_no_verdict(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, str(SCRIPT), proof(tmp_path, "{}"), LINE],
            stdout=full, stderr=subprocess.PIPE, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode not in (0, 1)
    assert b"Not proved" not in done.stderr


def test_a_file_of_keys_may_say_other_things_too(tmp_path: Path) -> None:
    file, keys = proof(tmp_path, "{}"), tmp_path / "keys.txt"
    for text in (
        f"{LINE}\n  signs here\n".encode(),
        f"\ufeff{LINE}\r\n  signs here\r\n".encode(),
        f"{LINE}\n".encode("utf-16"),
        f"# from Alice, by phone\n\n{LINE}\n{LINE}\n".encode(),
    ):
        keys.write_bytes(text)
        assert run(file, str(keys)).returncode == 0, text
    for useless in ("", "  signs here\n", "\0\n"):
        keys.write_text(useless)
        assert b"recollect proof key list" in run(file, str(keys)).stderr
    keys.write_text(f"{LINE}\n{LINE[:-1]}\n")  # one that was cut is not passed over
    assert run(file, str(keys)).returncode == 1
    keys.write_text(f"{LINE}\n{STRANGER.public}\n")
    assert b'not signed by "recollect/other"' in run(file, str(keys)).stderr


def test_a_key_that_is_given_twice_is_one_key(tmp_path: Path) -> None:
    assert run(proof(tmp_path, "{}"), LINE, LINE).returncode == 0


def test_a_key_is_not_taken_from_a_file_of_its_name(tmp_path: Path) -> None:
    """Whoever sends a proof in a folder could otherwise replace the key."""
    file = proof(tmp_path, "{}")
    (tmp_path / str(STRANGER.public)).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / str(STRANGER.public)).write_text(LINE)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), file, str(STRANGER.public)],
        cwd=tmp_path, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1


def test_only_ordinary_files_of_some_size_are_read(tmp_path: Path) -> None:
    file = proof(tmp_path, "{}")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(64_000_001)
    for name, why in (
        ("pipe", b"ordinary file"),
        ("large", b"larger than 64,000,000 bytes"),
        (".", b"ordinary file"),
        ("none", b"ordinary file"),
    ):
        for words in ((str(tmp_path / name), LINE), (file, str(tmp_path / name))):
            done = run(*words)
            assert done.returncode == 1
            assert why in done.stderr
            assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("data", ['{"a":1,"a":1}', '{"a":{"b":1,"b":2}}', "[" * 100_000, "x"])
def test_a_body_that_readers_understand_differently_is_refused(tmp_path: Path, data: str) -> None:
    done = run(proof(tmp_path, data), LINE)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"Not proved: ")
    assert b"Traceback" not in done.stderr

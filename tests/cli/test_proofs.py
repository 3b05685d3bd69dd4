"""Proofs on the command line, checked by a program that knows nothing of Recollect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.running import Shell
from tests.cli.test_verbs import remembered

SCRIPT = Path(__file__).parents[2] / "docs" / "verify_proof.py"


def checked(*words: str) -> subprocess.CompletedProcess[str]:
    """The script in a Python of its own: no user folder, no PYTHONPATH, not beside this package."""
    return subprocess.run(
        [sys.executable, "-I", "-X", "importtime", str(SCRIPT), *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_proof_is_printed_written_and_checked_without_recollect(store: Shell) -> None:
    id = remembered(store, "Alice sits in 14C.")
    assert store.run("proof", "prove", id).code == 3  # there is no key yet
    key = store.run("proof", "key", "create", "--json").json["key"]
    printed = store.run("proof", "prove", id)
    assert printed.code == 0
    assert (
        store.run("proof", "prove", id, "--json").out == printed.out
    )  # it is one JSON document anyway
    file = store.folder / "proof.json"
    told = store.run("proof", "prove", id, "--out", str(file)).out
    assert "Wrote the proof of event 2" in told
    assert file.read_text() == printed.out
    done = checked(str(file), key)
    assert (done.returncode, "Alice sits in 14C." in done.stdout) == (0, True)
    assert "recollect" not in done.stderr  # every module that was loaded
    assert "cryptography" in done.stderr  # the control
    pinned = store.folder / "keys.txt"
    for options in ((), ("--json",)):
        pinned.write_text(store.run("proof", "key", "list", *options).out)
        assert checked(str(file), str(pinned)).returncode == 0
    assert "in the ledger that was signed" not in done.stdout
    for usage in ([], [str(file)], ["--help"]):
        assert checked(*usage).returncode == 2
    for words in ((str(file), "what"), (str(file), key[:-2]), (str(store.folder / "no"), key)):
        refused = checked(*words)
        assert (refused.returncode, "Not proved: " in refused.stderr) == (1, True)
    file.write_text(printed.out.replace("14C", "14D"))
    assert "the body of the event was changed" in checked(str(file), key).stderr


def test_what_a_tired_person_types(store: Shell) -> None:
    id = remembered(store, "Alice sits in 14C.")
    store.run("proof", "key", "create")
    assert store.run("proof", "prove").code == 2
    assert store.run("proof", "prove", "--event", "0").code == 2
    assert store.run("proof", "prove", "--event", "99").code == 3
    assert store.run("proof", "prove", "what").code == 3
    there = store.folder / "there.json"
    there.write_text("mine")
    refused = store.run("proof", "prove", id, "--out", str(there), "--json")
    assert (refused.code, refused.error["code"]) == (5, "conflict")
    assert there.read_text() == "mine"
    nowhere = store.run(
        "proof", "prove", id, "--out", str(store.folder / "no" / "proof.json"), "--json"
    )
    assert (nowhere.code, nowhere.error["hint"]) == (2, "make the folder first")
    os.symlink(store.folder / "elsewhere", store.folder / "link")
    assert store.run("proof", "prove", id, "--out", str(store.folder / "link")).code == 5
    assert (
        store.run(
            "proof", "prove", "--event", "2", "--out", str(store.folder / "p"), "--json"
        ).json["proof"]["kind"]
        == "record.added"
    )
    assert store.run("proof", "prove", id, "--user", "bob").code == 3


def test_without_the_package_that_signs_it_says_what_to_install(store: Shell) -> None:
    id = remembered(store, "One.")
    store.run("proof", "key", "create")
    store.run("proof", "checkpoint")
    without = (
        "import sys; sys.modules['cryptography'] = None; "
        "from recollect.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", without, "proof", "prove", id],
        cwd=store.folder, env=store.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "pip install 'recollect[proof]'" in done.stderr

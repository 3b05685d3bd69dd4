"""Keys and checkpoints on the command line."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.running import Shell
from tests.cli.test_verbs import remembered


def test_keys_are_created_rotated_pinned_and_listed(store: Shell) -> None:
    remembered(store, "One.")
    assert "No key is trusted" in store.run("proof", "key", "list").out
    assert (store.run("proof", "checkpoint").code, store.run("proof", "key", "rotate").code) == (
        3,
        3,
    )
    made = store.run("proof", "key", "create", "--json").json
    assert made["signs"]
    assert store.run("proof", "key", "create").code == 5
    assert made["key"] in store.run("proof", "key", "list").out
    assert store.run("proof", "key", "pin", made["key"]).code == 0
    assert store.run("proof", "key", "pin", "what").code == 2
    told = store.run("proof", "key", "rotate").out
    (new,) = [line for line in told.splitlines() if line.startswith("recollect/")]
    assert new != made["key"]
    listed = store.run("proof", "key", "list", "--json").json
    assert [one["key"] for one in listed] == [made["key"], new]
    assert "Created the key" not in store.run("proof", "key", "list").out


def test_a_checkpoint_is_printed_and_verified(store: Shell) -> None:
    remembered(store, "One.")
    assert store.run("admin", "verify", "--anchored").code == 1
    store.run("proof", "key", "create")
    made = store.run("proof", "checkpoint", "--json").json
    assert made["note"].startswith(f"{made['ledger']}\n{made['size']}\n")
    assert made["note"] in store.run("proof", "checkpoint").out
    done = store.run("admin", "verify", "--anchored")
    assert (done.code, "Anchored" in done.out) == (0, True)
    assert "as it was kept elsewhere up to event 2" in done.out
    kept = store.folder / "kept.note"
    kept.write_text(made["note"])
    assert store.run("admin", "verify", "--anchor", str(kept)).code == 0
    assert "checkpoint" in store.run("admin", "close-segment").out
    ledger = next((store.folder / ".recollect" / "sealed").glob("*.wal"))
    ledger.write_bytes(ledger.read_bytes().replace(b"One.", b"Two."))
    assert "Broken at event 2" in store.run("admin", "verify").out


def test_an_ordinary_command_loads_nothing_that_signs(store: Shell) -> None:
    remembered(store, "One.")
    store.run("proof", "key", "create")
    store.run("proof", "checkpoint")
    python = [sys.executable, "-P", "-X", "importtime", "-m", "recollect"]
    for words, loads in (
        (["remember", "Two."], False),
        (["recall", "one"], False),
        (["admin", "verify"], True),  # the control
    ):
        done = subprocess.run(
            [*python, *words],
            cwd=store.folder, env=store.environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ("recollect.proof" in done.stderr) == loads, words
        assert ("cryptography" in done.stderr) == loads, words


def test_without_the_package_that_signs_no_key_is_left_and_verify_still_works(store: Shell) -> None:
    remembered(store, "One.")
    without = (
        "import sys; sys.modules['cryptography'] = None; "
        "from recollect.__main__ import main; sys.exit(main())"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-c", without, *words],
            cwd=store.folder, env=store.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    refused = run("proof", "key", "create")
    assert "pip install 'recollect[proof]'" in refused.stderr
    assert refused.returncode != 0
    assert run("admin", "verify").returncode == 0
    store.run("proof", "key", "create")  # the control: with a key, signatures have to be checked
    assert "signatures need" in run("admin", "verify").stderr

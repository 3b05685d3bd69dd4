"""`recollect admin job`, `recollect admin schedule` and `recollect admin work`."""

from __future__ import annotations

from tests.cli.running import Shell

APP = ("--store", "app")


def test_a_pass_is_asked_for_listed_and_done(shell: Shell) -> None:
    shell.run(*APP, "remember", "Tea is at four.")
    assert shell.run(*APP, "admin", "job", "list").out == "There are no jobs.\n"
    ran = shell.run(*APP, "admin", "job", "ask", "verify", "--params", '{"deep": true}')
    assert (ran.code, ran.out) == (0, "Asked for 1 verify  waiting · space main\n"), ran.err
    assert shell.run(*APP, "admin", "job", "list", "--json").json[0]["params"] == {"deep": True}
    assert "recollect admin work --once" in shell.run(*APP, "admin", "job", "show", "1").out
    assert shell.run(*APP, "admin", "work", "--once", "--kinds", "seal").out == ""
    done = shell.run(*APP, "admin", "work", "--once", "--json")
    assert (done.code, done.json["state"]) == (0, "done"), done.err
    assert shell.run(*APP, "admin", "job", "show", "1", "--json").json["state"] == "done"
    assert shell.run(*APP, "admin", "job", "cancel", "1").code != 0
    shell.run(*APP, "admin", "job", "ask", "seal")
    assert (
        shell.run(*APP, "admin", "job", "cancel", "2").out
        == "Cancelled 2 seal  cancelled · space main\n"
    )


def test_a_schedule_is_set_listed_and_removed(shell: Shell) -> None:
    shell.run(*APP, "remember", "Tea is at four.")
    assert shell.run(*APP, "admin", "schedule", "list").out == "No schedule is set.\n"
    ran = shell.run(*APP, "admin", "schedule", "set", "verify", "--every", "1h")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Set verify  every 3,600 s · next ")
    assert shell.run(*APP, "admin", "schedule", "list", "--json").json[0]["every_s"] == 3600
    assert shell.run(*APP, "admin", "schedule", "set", "verify", "--every", "often").code != 0
    assert shell.run(*APP, "admin", "schedule", "set", "verify").code != 0
    assert shell.run(*APP, "admin", "schedule", "drop", "verify").code == 0
    assert shell.run(*APP, "admin", "schedule", "drop", "verify").code != 0


def test_what_cannot_be_is_refused(shell: Shell) -> None:
    shell.run(*APP, "remember", "Tea is at four.")
    for words in (
        ("admin", "job", "ask", "dance"), ("admin", "job", "show", "9"),
        ("admin", "work", "--once", "--kinds", "x"),
        ("admin", "job", "ask", "seal", "--params", "[]"),
    ):  # fmt: skip
        ran = shell.run(*APP, *words)
        assert ran.code != 0
        assert "Traceback" not in ran.err
    assert shell.run("--store", ":memory:", "admin", "job", "list").code != 0


def test_a_worker_finds_the_jobs_of_every_space(shell: Shell) -> None:
    shell.run(*APP, "--space", "alice", "remember", "Tea is at four.")
    shell.run(*APP, "--space", "alice", "admin", "job", "ask", "seal")
    ran = shell.run(*APP, "admin", "work", "--once")
    assert (ran.code, ran.out) == (0, "1 seal  done · space alice\n"), ran.err

"""Engines of other packages: what the door opens, what it refuses, and when it looks at all.

The packages are folders with real metadata on the path of a real process, as pip leaves them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci  # many processes

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "one_file"

IN_MEMORY = """
from recollect.store.indexed.backend import MemoryBackend

def open_it(opening):
    return MemoryBackend(seam=opening.seam)
"""
MARKS = """
from pathlib import Path
Path(__file__).with_name("was-imported").touch()
"""


def put(site: Path, package: str, scheme: str, code: str, name: str = "open_it") -> None:
    """Installs a package with one engine."""
    module = package.replace("-", "_")
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{module}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[recollect.engines]\n{scheme} = {module}:{name}\n")


Recollect = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def python(site: Path, tmp_path: Path) -> Recollect:
    """Runs Python with these packages, in an empty home folder."""
    (tmp_path / "home").mkdir()
    here = [str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]

    def run(*line: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *line],
            cwd=tmp_path / "home",
            env={
                **{name: text for name, text in os.environ.items() if "RECOLLECT" not in name},
                "PYTHONPATH": os.pathsep.join([str(site), *filter(None, here)]),
                "HOME": str(tmp_path / "home"),
                "RECOLLECT_EMBEDDER": "none",
                **more,
            },
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def recollect(python: Recollect) -> Recollect:
    """Runs the command line."""

    def run(store: str, *line: str, **more: str) -> subprocess.CompletedProcess[str]:
        return python("-m", "recollect", "--store", store, *line, **more)

    return run


@pytest.fixture
def example(site: Path) -> None:
    """The example as pip installs it: its wheel is built, and unpacked where Python looks."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(site)],
        cwd=EXAMPLE,
        check=True,
        capture_output=True,
    )
    (wheel,) = site.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)


# --- what it opens


@pytest.mark.usefixtures("example")
def test_an_installed_engine_remembers_recalls_after_a_restart_and_verifies(
    recollect: Recollect, tmp_path: Path
) -> None:
    store = "sqlite://team.db"
    assert recollect(store, "init").returncode == 0
    for text in ("Staging is on port 5433.", "Staging is on port 5434."):
        done = recollect(store, "remember", text, "--key", "staging.port")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "home" / "team.db").is_file()
    found = recollect(store, "--json", "recall", "Which port has staging?")
    assert [hit["text"] for hit in json.loads(found.stdout)["hits"]] == ["Staging is on port 5434."]
    for line in ("admin verify", "admin doctor", "status", "admin rebuild"):
        done = recollect(store, *line.split())
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("example")
def test_a_token_opens_what_it_allows_and_another_one_nothing(recollect: Recollect) -> None:
    store = "sqlite://team.db"
    assert recollect(store, "remember", "Tea is at four.").returncode == 0
    line = "--json admin token create --space main --label reader --verbs read"
    made = recollect(store, *line.split())
    assert made.returncode == 0, made.stderr
    token = json.loads(made.stdout)["token"]
    read = recollect(store, "--json", "list", RECOLLECT_TOKEN=token)
    assert [record["text"] for record in json.loads(read.stdout)["records"]] == ["Tea is at four."]
    write = recollect(store, "remember", "Tea is at five.", RECOLLECT_TOKEN=token)
    assert write.returncode != 0
    other = recollect(store, "list", RECOLLECT_TOKEN="rct_" + "a" * 43)
    assert other.returncode != 0
    assert "Tea" not in other.stdout + other.stderr


def test_an_engine_gets_the_address_and_what_a_person_has(
    site: Path, python: Recollect, recollect: Recollect
) -> None:
    code = (
        f"{IN_MEMORY}\nseen = open_it\ndef told(opening):\n"
        "    print([opening.where, opening.path, opening.seam is not None, opening])\n"
        "    print(type(opening.keys('a' * 64)).__name__, callable(opening.note_erased))\n"
        "    return seen(opening)\n"
    )
    put(site, "teller", "told", code, name="told")
    done = recollect("told://ann:secret@host/x?y=1", "remember", "Tea is at four.")
    assert done.returncode == 0, done.stderr
    first, second, *_ = done.stdout.splitlines()
    path = "ann:secret@host/x?y=1"
    assert first == f"['told://{path}', '{path}', True, Opening(told://…)]"
    assert second == "FileKeys True"


# --- what it refuses


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """What the command line says, on one line."""
    assert done.returncode not in (0, 70), done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_a_scheme_that_is_not_installed_is_named_with_a_next_step(recollect: Recollect) -> None:
    said = refusal(recollect("nowhere://ann:secret@host", "list"))
    assert "no installed engine opens nowhere:// addresses" in said
    assert "install the package" in said
    assert "secret" not in said


@pytest.mark.parametrize("where", ["://x", "Nowhere://x", "a b://x", "../x://y"])
def test_what_is_not_a_scheme_is_refused_alike(recollect: Recollect, where: str) -> None:
    assert "no installed engine opens" in refusal(recollect(where, "list"))


def test_two_packages_with_one_name_are_both_named(site: Path, recollect: Recollect) -> None:
    for package in ("first-engine", "second-engine"):
        put(site, package, "twice", MARKS + IN_MEMORY)
    said = refusal(recollect("twice://x", "list"))
    assert "2 engines are installed for twice://" in said
    assert "first-engine 1.0 and second-engine 1.0" in said
    assert not (site / "was-imported").exists()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import not_there_at_all", "could not be loaded: ModuleNotFoundError"),
        ("1 / 0", "could not be loaded: ZeroDivisionError"),
        ("x = 1", "could not be loaded: AttributeError"),
        ("open_it = 3", "failed: TypeError"),
        ("def open_it(opening): raise OSError('the disk is full')", "failed: OSError: the disk"),
        ("def open_it(opening): return None", "did not open a store: NoneType lacks close"),
        ("class A:\n  where = ''\ndef open_it(opening): return A()", "A lacks close"),
    ],
)
def test_an_engine_that_does_not_work_is_named_with_its_package(
    site: Path, recollect: Recollect, code: str, reason: str
) -> None:
    put(site, "broken-engine", "broken", code)
    said = refusal(recollect("broken://ann:secret@host", "list"))
    assert "the engine for broken:// (broken-engine 1.0)" in said
    assert reason in said
    assert "secret" not in said


def test_what_an_engine_refuses_itself_is_said_as_it_says_it(
    site: Path, recollect: Recollect
) -> None:
    code = (
        "from recollect.errors import ConfigError\n"
        "def open_it(opening): raise ConfigError('no such room', hint='name another room')"
    )
    put(site, "rooms", "room", code)
    assert "no such room" in refusal(recollect("room://x", "list"))


@pytest.mark.parametrize("line", [("admin", "migrate"), ("admin", "vacuum")])
def test_what_is_for_a_server_is_refused(
    site: Path, recollect: Recollect, line: tuple[str, ...]
) -> None:
    put(site, "mem", "mem", IN_MEMORY)
    assert "needs a database server" in refusal(recollect("mem://x", *line))


@pytest.mark.usefixtures("example")
def test_a_backup_is_restored_into_a_folder_and_pushed_from_there(recollect: Recollect) -> None:
    store = "sqlite://team.db"
    assert recollect(store, "remember", "Tea is at four.").returncode == 0
    assert recollect(store, "admin", "backup", "copy").returncode == 0
    other = "sqlite://other.db"
    assert "`recollect admin push`" in refusal(recollect(other, "admin", "restore-backup", "copy"))
    for where, line in (("folder", "admin restore-backup copy"), ("folder", f"admin push {other}")):
        done = recollect(where, *line.split())
        assert done.returncode == 0, done.stderr
    assert "Tea is at four." in recollect(other, "list").stdout


# --- when it looks

_LOOKS = """
import sys
from recollect import Memory
with Memory.open(sys.argv[1], embedder="none") as memory:
    memory.remember("Tea is at four.")
looked = {"recollect.store.engines", "importlib.metadata"} & set(sys.modules)
print(*sorted(looked))
"""


def test_the_built_in_engines_never_look(site: Path, python: Recollect) -> None:
    put(site, "mem", "mem", IN_MEMORY)
    for where in (":memory:", "folder"):
        done = python("-c", _LOOKS, where)
        assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
    done = python("-c", _LOOKS, "mem://x")  # the control
    assert done.stdout.split() == ["importlib.metadata", "recollect.store.engines"], done.stderr


@pytest.mark.parametrize("where", ["postgresql://nobody@127.0.0.1:1/x", "postgres://127.0.0.1:1/x"])
def test_no_package_takes_the_place_of_a_built_in_engine(
    site: Path, recollect: Recollect, where: str
) -> None:
    put(site, "thief", where.partition(":")[0], MARKS + IN_MEMORY)
    refusal(recollect(where, "list"))
    assert not (site / "was-imported").exists()


def test_a_service_is_never_asked_of_a_package(site: Path, recollect: Recollect) -> None:
    put(site, "thief", "https", MARKS + IN_MEMORY)
    refusal(recollect("https://127.0.0.1:1", "list"))
    said = refusal(recollect("https://127.0.0.1:1", "admin", "restore-backup", "backup"))
    assert "is the address of a service" in said
    assert not (site / "was-imported").exists()

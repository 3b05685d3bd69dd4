"""The lists of pins are complete, and any pip installs them as they are.

A pip of 23.2 or older takes ``cover[toml]`` for something else than the pin ``cover==1.0``: it asks
for the newest ``cover`` and refuses it, because nothing pins that. So a list that worked fails on
the day on which a newer ``cover`` is published, unless pip is told not to resolve anything.
"""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import re
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.base_pins import PIN, ROOT, applies

LISTS = (
    "constraints.txt .ci/uv.txt .ci/browser.txt deploy/requirements.txt deploy/checks.txt".split()
)
INSTALLED = ("constraints.txt", ".ci/browser.txt")
INSTALLERS = ("Makefile", ".ci/setup", ".ci/package", "deploy/Dockerfile")
INSTALL = re.compile(r"pip (?:install|download)[^\n;&|]*--require-hashes(?:[^\n;&|]|\\\n)*")
OLD = re.compile(r"pip-(?:2[0-2]\.\d+|23\.[0-2])(?:\.\d+)?-")


def wheel(folder: Path, name: str, version: str, *more: str) -> str:
    """Writes a package of one empty module; returns the hash of its file."""
    info = f"{name}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *more]
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for each, text in files.items():
            file.writestr(each, text)
        file.writestr(f"{info}/RECORD", "".join(map(recorded, files, files.values())))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def recorded(name: str, text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"{name},sha256={digest.decode()},{len(text)}\n"


def bundled_pip() -> Path:
    """The pip that this Python brings, as one file."""
    found = sorted(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
    if not found:
        pytest.skip("this Python brings no pip of its own (ensurepip has no wheel)")
    return found[-1]


def installed(tmp_path: Path, pip: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
    """Installs a list that pins ``cover`` while a newer one is on the index."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    extra = "Provides-Extra: toml"
    pinned = wheel(wheels, "cover", "1.0", extra)
    wheel(wheels, "cover", "1.1", extra)
    plugin = wheel(wheels, "plugin", "1.0", "Requires-Dist: cover[toml]>=1.0")
    pins = f"cover==1.0 --hash=sha256:{pinned}\nplugin==1.0 --hash=sha256:{plugin}\n"
    (tmp_path / "pins").write_text(pins)
    words = ["--isolated", "install", "--no-index", "--find-links", str(wheels), "-r", "pins"]
    words += ["--target", "target", "--disable-pip-version-check", *options]
    return subprocess.run(
        [sys.executable, f"{pip}/pip", *words],
        cwd=tmp_path, text=True, capture_output=True, check=False, timeout=300,
    )  # fmt: skip


def commands() -> list[str]:
    texts = [(ROOT / name).read_text("utf-8") for name in INSTALLERS]
    return [line for text in texts for line in INSTALL.findall(text)]


def test_without_no_deps_an_old_pip_fails_when_something_newer_is_out(tmp_path: Path) -> None:
    pip = bundled_pip()
    if not OLD.match(pip.name):
        pytest.skip(f"the pip of this Python is newer than 23.2: {pip.name}")
    done = installed(tmp_path, pip, ["--require-hashes"])
    assert done.returncode != 0
    assert "pinned with ==" in done.stderr
    assert "cover" in done.stderr


def test_with_no_deps_pip_installs_what_is_pinned(tmp_path: Path) -> None:
    done = installed(tmp_path, bundled_pip(), ["--require-hashes", "--no-deps"])
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "target").glob("*.dist-info")}
    assert names == {"cover-1.0.dist-info", "plugin-1.0.dist-info"}


def test_every_command_that_installs_a_list_says_no_deps() -> None:
    found = commands()
    assert len(found) >= len(LISTS)
    assert [line for line in found if "--no-deps" not in line] == []


@pytest.mark.parametrize("name", LISTS)
def test_a_list_has_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    pins = list(PIN.finditer(text))
    assert len(pins) == len(re.findall("^[a-zA-Z]", text, re.MULTILINE))
    assert all("--hash=sha256:" in match[0] for match in pins)
    assert "://" not in text
    assert "--index" not in text


@pytest.mark.parametrize("name", INSTALLED)
def test_a_list_is_complete(name: str) -> None:
    assert missing((ROOT / name).read_text("utf-8")) == set()


def test_a_list_without_something_that_an_extra_needs_is_not_complete() -> None:  # the control
    text = (ROOT / "constraints.txt").read_text("utf-8")
    assert missing(text.replace("\npsycopg-binary==", "\nother==")) == {"psycopg[binary]"}


def missing(text: str) -> set[str]:
    """The packages of a list that need something that is not in it."""
    heads = [Requirement(match[0].partition("\\")[0]) for match in PIN.finditer(text)]
    names = {canonicalize_name(head.name) for head in heads}
    return {
        f"{head.name}[{','.join(head.extras)}]"
        for head in heads
        if any(canonicalize_name(each.name) not in names for each in requirements(head))
    }


def requirements(head: Requirement) -> list[Requirement]:
    """What an installed package needs here with the extras of its pin; nothing if it is absent."""
    try:
        texts = distribution(head.name).requires or []
    except PackageNotFoundError:
        return []  # of another system, or the browser, which not everyone installs
    found = [Requirement(text) for text in texts]
    return [each for each in found if applies(each, frozenset(head.extras))]

"""The pins of a plain install: whole, with hashes, and nothing else."""

from __future__ import annotations

import pytest

from tools.base_pins import ROOT, needed, pins

CONSTRAINTS = (ROOT / "constraints.txt").read_text("utf-8")


def test_a_plain_install_brings_what_the_project_names_and_no_extra() -> None:
    names = needed("recollect")
    assert {"msgspec", "rich", "pystemmer"} <= names
    assert not names & {"psycopg", "mcp", "pytest", "onnxruntime", "recollect"}


def test_every_pin_has_a_version_and_a_hash() -> None:
    names = needed("recollect")
    blocks = pins(CONSTRAINTS, names).split("\n")
    packages = [line for line in blocks if line and not line.startswith(" ")]
    assert len(packages) == len(names)
    assert all("==" in line and line.endswith("\\") for line in packages)


def test_a_package_without_a_hash_is_refused() -> None:
    without = "\n".join(line for line in CONSTRAINTS.split("\n") if "--hash=" not in line)
    with pytest.raises(SystemExit, match="msgspec"):
        pins(without, needed("recollect"))

"""Writes the Helm chart from the Kubernetes manifests.

    python -m tools.chart           writes deploy/helm
    python -m tools.chart --check   fails if what is there differs

Responsible for the chart's templates and values. Leaves what they say to ``deploy/kubernetes``,
where a line that ends in ``# value: NAME`` has a value that the chart lets its users choose.
Invariant: a template with the default values is its manifest, byte for byte.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from recollect import __version__

ROOT: Final = Path(__file__).resolve().parent.parent
MANIFESTS: Final = ROOT / "deploy/kubernetes"
CHART: Final = ROOT / "deploy/helm"
_MARKED: Final = re.compile(r'^(.*?)("?)([^" ]+)("?)(  # value: (\w+))$', re.MULTILINE)
_PLACE: Final = re.compile(r"\{\{ \.Values\.(\w+) \}\}")


def template(manifest: str) -> str:
    """A manifest with the place of each marked value instead of the value."""
    return _MARKED.sub(r"\1\2{{ .Values.\6 }}\4\5", manifest)


def values(manifest: str) -> dict[str, str]:
    """The marked values, as they are written."""
    found: dict[str, str] = {}
    for match in _MARKED.finditer(manifest):
        value, name = match[2] + match[3] + match[4], match[6]
        if found.setdefault(name, value) != value:
            raise SystemExit(f"{name} has two defaults: {found[name]} and {value}")
    return found


def rendered(text: str, chosen: Mapping[str, str]) -> str:
    """A template as Helm renders it with these values."""
    return _PLACE.sub(lambda match: chosen[match[1]].strip('"'), text)


def files() -> dict[str, str]:
    """The files of the chart."""
    manifests = {path.name: path.read_text("utf-8") for path in sorted(MANIFESTS.glob("*.yaml"))}
    chosen = values("\n".join(manifests.values()))
    lines = "".join(f"{name}: {value}\n" for name, value in sorted(chosen.items()))
    return {
        **{f"templates/{name}": template(text) for name, text in manifests.items()},
        "values.yaml": f"# Made from deploy/kubernetes by `make chart`.\n{lines}",
        "Chart.yaml": (
            "# Made by `make chart`.\napiVersion: v2\nname: recollect\n"
            "description: A memory for AI agents, as a service in front of PostgreSQL.\n"
            f'type: application\nversion: {__version__}\nappVersion: "{__version__}"\n'
            'kubeVersion: ">=1.30.0-0"\n'
        ),
    }


def stale() -> list[str]:
    """The files of the chart that differ from what the manifests say, and those that are extra."""
    wanted = files()
    there = {
        path.relative_to(CHART).as_posix(): path.read_text("utf-8")
        for path in CHART.rglob("*")
        if path.is_file()
    }
    return sorted(name for name in wanted.keys() | there if wanted.get(name) != there.get(name))


def main() -> None:
    """Writes, or checks."""
    if "--check" in sys.argv[1:]:
        if found := stale():
            sys.exit(f"out of date: {', '.join(found)}; run `make chart`")
        return
    for name, text in files().items():
        (CHART / name).parent.mkdir(parents=True, exist_ok=True)
        (CHART / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()

"""The code blocks of S3, with ``openchronicle`` replaced by ``recollect``.

Every other change has a comment that starts with "changed". Run it in an empty folder that is also
the home folder: ``HOME=$PWD python quickstart_s3.py``; it prints what it did.
"""
# ruff: noqa: T201

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from recollect.contracts.pages import MemoryFiles
from recollect.mirror.parse import parse

# --- File layout

FILE = """\
---
description: Identity and background of the user
tags: [identity, background]
status: active # active | dormant | archived
created: 2026-04-20T14:02:11+08:00
updated: 2026-04-21T09:15:00+08:00
entry_count: 4
needs_compact: false
---

# User Profile

## [2026-04-20T14:02:11] {id: 20260420-1402-a1b23c} #identity
User goes by Kming. Based in Shanghai.

## [2026-04-20T16:30:05] {id: 20260420-1630-3f0e99} #work #employer
~~User works at Old Corp as a principal engineer.~~ #superseded-by:20260421-0915-c4f1a5

## [2026-04-21T09:15:00] {id: 20260421-0915-c4f1a5} #work #employer
User joined Acme Corp as a senior engineer.
"""

# --- Entry heading

HEADING = "## [{iso-timestamp}] {id: YYYYMMDD-HHMM-xxxx} #tag1 #tag2"

# --- Compaction

CONFIG = """\
[writer]
soft_limit_tokens = 20000 # suggest compaction above this
hard_limit_tokens = 50000 # emergency: always flag
"""  # changed: the text around the block names the section

# --- Reading & writing from the outside

GREP = "grep -r user- ~/.recollect/memory/"
REBUILD = "recollect admin rebuild-index"  # changed: without uv run, here and below

# --- Wiping memory

CLEAN_MEMORY = "recollect admin clean memory"
CLEAN_ALL = "recollect admin clean all"

# changed: from here on, what the text around the blocks says, so that they have something to do


def shell(command: str) -> str:
    """Runs a command as a person does."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return done.stdout


def write() -> Path:
    """The entries of the block, by the calls of the text; returns the file."""
    with MemoryFiles() as files:
        path = files.folder / "user-profile.md"
        files.append("user-profile.md", "User goes by Kming. Based in Shanghai.", ["identity"])
        old_id = files.append(
            "user-profile.md",
            "User works at Old Corp as a principal engineer.",
            ["work", "employer"],
        )
        new_content = "User joined Acme Corp as a senior engineer."
        files.supersede(str(path), old_id, new_content, "a new job")
        print(files.search("Where does the user work?")[0].body)
        chain = files.search("Where does the user work?", include_superseded=True)
        print([hit.body for hit in chain if hit.superseded_by is not None])
        print(len(files.read_memory("user-profile.md", tags=["work"]).entries))
        print([file.path for file in files.list_memories()], "event-" in files.get_schema())
    return path


def shape(text: str) -> list[str]:
    """A file without what differs from day to day."""
    text = re.sub(r"\d{8}-\d{4}-[0-9a-f]{6}", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([+-]\d\d:\d\d)?", "TIME", text)
    return text.splitlines()


def as_written(text: str) -> str:
    """The block as this package writes it; reading takes both forms."""
    text = text.replace("status: active # active | dormant | archived", "status: active")
    text = text.replace("entry_count: 4", "entry_count: 3")  # changed: the block shows three
    mark = " #superseded-by:20260421-0915-c4f1a5"  # changed: in the heading, as the text says
    return text.replace(f"~~{mark}", "~~").replace("-3f0e99} #work #employer", "-3f0e99} #work"
        f" #employer{mark}")  # fmt: skip


def pattern_of(heading: str) -> str:
    """The template as a pattern for headings with these two tags."""
    parts = {
        "{iso-timestamp}": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
        "YYYYMMDD-HHMM-xxxx": r"\d{8}-\d{4}-[0-9a-f]{6}",  # changed: six digits, as the text says
        "#tag1 #tag2": "#work #employer",
    }
    pattern = re.escape(heading)
    for part, found in parts.items():
        pattern = pattern.replace(re.escape(part), found)
    return f"^{pattern}"


def main() -> None:
    """Writes, compares, edits, rebuilds."""
    read = parse("user-profile", FILE)
    print([(entry.struck, len(entry.tags)) for entry in read.page.entries], read.problems)
    path = write()
    rest = [line for line in shape(path.read_text()) if not line.startswith(("position", "[Index"))]
    print([line for line in rest if line] == [line for line in shape(as_written(FILE)) if line])
    print(len(re.findall(pattern_of(HEADING), path.read_text(), re.MULTILINE)))
    (path.parent.parent / "config.toml").write_text(CONFIG)
    with MemoryFiles() as files:
        print(files.limits().soft_limit_tokens, files.limits().hard_limit_tokens)
    print("user-profile.md" in shell(GREP))
    path.write_text(path.read_text().replace("Based in Shanghai", "Based in Berlin"))
    shell(f"{REBUILD} --yes")  # changed: it asks before it takes over what was edited
    print("Berlin" in shell("recollect recall 'Where is Kming based?'"))
    for command in (CLEAN_MEMORY, CLEAN_ALL):  # changed: both ask, so the place and yes are given
        shell(f"{command} --store ~/.recollect --yes")
    with MemoryFiles() as files:
        print(files.read_memory("user-profile.md").entries, files.search("Kming"))
    print((path.parent.parent / "config.toml").read_text() == CONFIG)


if __name__ == "__main__":
    main()

"""How a memory is organized, for models that write to it.

Responsible for the text. Leaves giving it out to ``store``. Invariant: it holds nothing from any
memory.
"""

from __future__ import annotations

from typing import Final

SCHEMA: Final = """\
# How this memory is organized

One Markdown file for each entity. The prefix of its name says what it is about:

| prefix | what belongs there |
|---|---|
| user- | lasting facts about the user: user-profile.md, user-preferences.md |
| project- | a project with clear boundaries |
| tool- | a program, a service or a command |
| topic- | a field of knowledge, or something followed over time |
| person- | another person |
| org- | a company, a team or an institution |
| event- | one file for each day, event-YYYY-MM-DD.md: what was learned in its sessions |

## Is it worth writing?

1. It passes quickly, was only read, or is written already: write nothing.
2. It is a preference, a decision, progress, or lasting knowledge: go on.

## Which file?

1. It is about the user: user-profile.md, or user-preferences.md for how they want things done.
2. It is about a project, a tool, a topic, a person or an organization: the file of that entity.
3. It only happened on one day: nothing. The file of the day has it.

## How?

1. The file does not exist: create it with a description of one line, then append.
2. It contradicts an entry: supersede that entry, with the reason. Nothing is deleted.
3. It adds something: append.
4. The file has become long: flag_compact.

An entry has 1 to 3 sentences that can be understood without the others, and 1 to 3 tags. Name the
subject ("User prefers tea"), write what is stable in the present tense, and give what happened its
date.
"""

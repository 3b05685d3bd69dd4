"""What only one place of the package may do, only that place does."""

from __future__ import annotations

import pytest

from recollect.store.disk import layout
from tests.tidy import boundaries
from tests.tidy.test_tree import SOURCES

NAMES = frozenset(
    value for name, value in vars(layout).items() if name.isupper() and isinstance(value, str)
)


def test_only_the_settings_know_what_a_folder_looks_like() -> None:
    # Redaction looks for addresses in texts, which are not places.
    allowed = ("config.py", "exchange/redaction")
    found = [
        complaint
        for where, source in SOURCES.items()
        if not boundaries.is_in(where, allowed)
        for complaint in boundaries.folder_questions(source, where)
    ]
    assert found == []
    assert boundaries.folder_questions(SOURCES["src/recollect/config.py"], "config.py")


def test_the_names_of_files_stand_in_the_layout_alone() -> None:
    # Files of other programs, which happen to have the same names.
    allowed = (
        "store/disk/layout.py",
        "exchange/importers/chrono.py",
        "interfaces/cli/assistants/hook_settings.py",
        "interfaces/cli/assistants/clients.py",
    )
    found = [
        complaint
        for where, source in SOURCES.items()
        if not boundaries.is_in(where, allowed)
        for complaint in boundaries.file_names(source, where, NAMES)
    ]
    assert found == []


def test_every_cache_of_texts_is_one_that_erasing_empties() -> None:
    found = [
        complaint
        for where, source in SOURCES.items()
        if not boundaries.is_in(where, ("index/caches.py",))
        for complaint in boundaries.text_caches(source, where)
    ]
    assert found == []


def test_no_module_uses_anothers_underscored_members() -> None:
    found = [
        complaint
        for where, source in SOURCES.items()
        for complaint in boundaries.siblings_members(source, where)
    ]
    assert found == []


def test_sql_stands_in_its_files_alone() -> None:  # S4-261
    allowed = (
        "store/sqlite.py",  # the settings of a connection
        "store/postgres/vacuum.py",  # a message names what cleans pages
        "contracts/blocks/db/engine.py",  # the settings of a connection
        "contracts/blocks/db/driver.py",  # the begin of a transaction
        "contracts/blocks/db/projection.py",  # the sign of a file
        "contracts/blocks/db/row_changes.py",  # triggers, made of the names of tables and columns
        "exchange/redaction/blocks.py",  # the head line of a private key
    )
    found = [
        complaint
        for where, source in SOURCES.items()
        if not boundaries.is_in(where, allowed)
        for complaint in boundaries.sql_texts(source, where)
    ]
    assert found == []
    assert all(boundaries.sql_texts(SOURCES[f"src/recollect/{one}"], one) for one in allowed)


def test_time_chance_and_changes_to_files_come_from_the_seam_alone() -> None:
    allowed = (
        "store/seam.py",
        "store/posix.py",  # one rename, for the seam
        "client/transport.py",  # idempotency keys and pauses; a client has no store
        "interfaces/cli/daily/demo.py",  # makes an empty folder for its memory, if none was named
        "interfaces/http/spool.py",  # long answers, in files without a name
    )
    found = [
        complaint
        for where, source in SOURCES.items()
        if not boundaries.is_in(where, allowed)
        for complaint in boundaries.machine_calls(source, where)
    ]
    assert found == []
    assert len(boundaries.machine_calls(SOURCES["src/recollect/store/seam.py"], "seam.py")) >= 10


def test_what_only_posix_systems_have_is_used_in_one_module() -> None:
    found = [
        complaint
        for where, source in SOURCES.items()
        if not boundaries.is_in(where, ("store/posix.py",))
        for complaint in boundaries.posix_uses(source, where)
    ]
    assert found == []
    assert len(boundaries.posix_uses(SOURCES["src/recollect/store/posix.py"], "posix.py")) >= 5


@pytest.mark.parametrize(
    "source",
    [
        "import fcntl",
        "def f():\n    import resource",
        "from fcntl import flock",
        "import os\nos.replace(a, b)",
        "from os import replace",
        "import os\nx = os.O_RDONLY | os.O_DIRECTORY",
    ],
)
def test_a_use_of_posix_is_seen(source: str) -> None:
    assert len(boundaries.posix_uses(source, "m.py")) == 1
    assert boundaries.posix_uses("import os\nseam.replace(a, os.O_RDONLY)", "m.py") == []


@pytest.mark.parametrize("source", ['if "://" in where:\n    pass', 'x = "://" not in a.where'])
def test_a_question_about_a_folder_is_seen(source: str) -> None:
    assert len(boundaries.folder_questions(source, "m.py")) == 1
    assert boundaries.folder_questions('x = where.partition("://")', "m.py") == []


@pytest.mark.parametrize(
    "source", ['x = "events.wal"', 'x = f"index.db-{n}"', 'x = folder / "sealed"', "'log' / x"]
)
def test_a_file_name_is_seen(source: str) -> None:
    assert len(boundaries.file_names(source, "m.py", NAMES)) == 1


@pytest.mark.parametrize("source", ['"""About events.wal."""', 'x = "log"', 'x = a / "other"'])
def test_other_texts_pass_for_no_file_name(source: str) -> None:
    assert boundaries.file_names(source, "m.py", NAMES) == []


@pytest.mark.parametrize(
    "source",
    ["from functools import lru_cache", "import functools\n@functools.lru_cache\ndef f(): 0"],
)
def test_a_cache_of_texts_is_seen(source: str) -> None:
    assert len(boundaries.text_caches(source, "m.py")) == 1
    assert boundaries.text_caches("from functools import cache", "m.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(memory):\n    return memory._handle.actor",
        "from other import _hidden",
        "class A:\n    def f(self):\n        return self.other._space",
    ],
)
def test_anothers_member_is_seen(source: str) -> None:
    assert len(boundaries.siblings_members(source, "m.py")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    def __init__(self):\n        self._x = 1\n    def f(self, other):\n"
        "        return other._x",
        "class A(B):\n    def f(self):\n        return self._of_the_class_above",
        "x = row._replace(a=1)\ny = row.__dict__",
    ],
)
def test_ones_own_members_pass(source: str) -> None:
    assert boundaries.siblings_members(source, "m.py") == []


@pytest.mark.parametrize(
    "source",
    [
        'x = "SELECT text FROM versions"',
        'db.execute(f"DELETE FROM {table}")',
        'db.execute("PRAGMA user_version")',
        'x = "UPDATE head SET seq = 1"',
    ],
)
def test_sql_is_seen(source: str) -> None:
    assert len(boundaries.sql_texts(source, "m.py")) == 1


@pytest.mark.parametrize("source", ['"""SELECT is SQL."""', 'x = "select one of these"'])
def test_words_pass_for_no_sql(source: str) -> None:
    assert boundaries.sql_texts(source, "m.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\nx = time.time()",
        "from time import time_ns",
        "from datetime import datetime\nx = datetime.now(UTC)",
        "import datetime\nx = datetime.datetime.now()",
        "import random",
        "from secrets import token_hex",
        "import os\nos.replace(a, b)",
        "open(path, 'wb')",
        "open(path, mode='a')",
        "path.unlink(missing_ok=True)",
        "self.path.write_text('x')",
        "folder.mkdir()",
        "import shutil\nshutil.rmtree(x)",
    ],
)
def test_what_the_seam_is_for_is_seen(source: str) -> None:
    assert len(boundaries.machine_calls(source, "m.py")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from time import monotonic\nx = monotonic()",
        "from datetime import datetime\nx = datetime.fromisoformat(y)",
        "self._seam.unlink(path)\nseam.mkdir(path)",
        "open(path, 'rb')\nopen(path)",
        "memory.unlink(a, b)",
        "text.replace('a', 'b')",
    ],
)
def test_a_stopwatch_and_reading_need_no_seam(source: str) -> None:
    assert boundaries.machine_calls(source, "m.py") == []

"""What only one place of the package may do, as functions: text in, complaints out.

Knows nothing of the tree but its paths; test_boundaries.py feeds it the real files, and something
bad for each rule. Invariant: an empty list means the rule is kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from tests.tidy.parsing import documented, nodes


def is_in(where: str, places: Collection[str]) -> bool:
    """True if a module is one of these places, or lies in one of them."""
    path = PurePosixPath(where)
    return any(path.is_relative_to(f"src/recollect/{place}") for place in places)


def strings(source: str) -> Iterator[ast.Constant]:
    """Every string of a module that is not a docstring."""
    said = {
        id(node.body[0].value)
        for node in documented(source)
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes(source, ast.Constant):
        if isinstance(node.value, str) and id(node) not in said:
            yield node


def folder_questions(source: str, where: str) -> list[str]:
    """Places that look for "://" in a text to learn whether it is a folder."""
    if "://" not in source:
        return []
    return [
        f'{where}:{node.lineno}: ask Settings.folder, not "://"'
        for node in nodes(source, ast.Compare)
        if any(isinstance(sign, ast.In | ast.NotIn) for sign in node.ops)
        and isinstance(node.left, ast.Constant)
        and node.left.value == "://"
    ]


def file_names(source: str, where: str, names: Collection[str]) -> list[str]:
    """Names of files and folders of a workspace that are spelled out.

    A name with a dot is found wherever it stands; one without, such as "log", where a path is made.
    """
    joined = {
        id(part)
        for node in nodes(source, ast.BinOp)
        if isinstance(node.op, ast.Div)
        for part in (node.left, node.right)
    }
    dotted = tuple(name for name in names if "." in name[1:])
    return [
        f"{where}:{node.lineno}: {node.value!r} is a name of store.layout"
        for node in strings(source)
        if str(node.value).startswith(dotted) or (node.value in names and id(node) in joined)
    ]


def text_caches(source: str, where: str) -> list[str]:
    """Caches with a bound, which are those for text, that an erasure does not empty."""
    if "lru_cache" not in source:
        return []
    lines = [node.lineno for node in nodes(source, ast.alias) if node.name == "lru_cache"]
    lines += [node.lineno for node in nodes(source, ast.Attribute) if node.attr == "lru_cache"]
    return [f"{where}:{line}: use recollect.index.caches" for line in lines]


# What the standard library gives a name with an underscore although everybody may use it.
PUBLIC = frozenset("_make _replace _asdict _fields _exit _getframe".split())


def siblings_members(source: str, where: str) -> list[str]:
    """Uses of another module's members whose names begin with an underscore."""
    own = {name for kind in DEFINING for node in nodes(source, kind) for name in defined(node)}
    own |= PUBLIC
    taking: list[ast.Attribute | ast.ImportFrom] = list(nodes(source, ast.Attribute))
    taking += nodes(source, ast.ImportFrom)
    found = [
        (node.lineno, name)
        for node in taking
        for name in underscored(node)
        if name not in own and not name.endswith("__")
    ]
    return [f"{where}:{line}: {name} belongs to another module" for line, name in sorted(found)]


DEFINING: tuple[type[ast.AST], ...] = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.Name, ast.Attribute),
)


def defined(node: ast.AST) -> Iterator[str]:
    """The names that a node gives to a function, a class, a variable or a member of ``self``."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node):
        yield node.attr


def underscored(node: ast.Attribute | ast.ImportFrom) -> Iterator[str]:
    """The names with an underscore that a node takes from something other than ``self``."""
    if isinstance(node, ast.ImportFrom):
        yield from (alias.name for alias in node.names if alias.name.startswith("_"))
    elif node.attr.startswith("_") and not is_self(node):
        yield node.attr


def is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


# --- SQL, and what the seam alone asks of the machine

SQL = re.compile(
    r"\b(?:SELECT\s|INSERT\s+INTO\b|UPDATE\s+\w+\s+SET\b|DELETE\s+FROM\b|CREATE\s|DROP\s|ALTER\s|"
    r"PRAGMA\b|VACUUM\b|ATTACH\b|BEGIN\b|COMMIT\b|ROLLBACK\b|SAVEPOINT\b|GRANT\s|REVOKE\s|"
    r"LOCK\s+TABLE\b|WITH\s+\w+\s+AS\b)"
)


def sql_texts(source: str, where: str) -> list[str]:
    """Strings that hold a statement of SQL."""
    if not SQL.search(source):
        return []
    return [
        f"{where}:{node.lineno}: {str(node.value)[:30]!r} is SQL"
        for node in strings(source)
        if SQL.search(str(node.value))
    ]


# Of modules: what tells the time of day, draws at random, or changes files.
ASKING = {
    "time": frozenset("time time_ns gmtime localtime ctime strftime".split()),
    "datetime": frozenset("now utcnow today".split()),
    "date": frozenset("today".split()),
    "os": frozenset(
        "urandom getrandom write pwrite writev ftruncate truncate fsync fdatasync link symlink "
        "rename renames replace remove unlink rmdir removedirs mkdir makedirs chmod chown utime "
        "mkfifo mknod sendfile copy_file_range".split()
    ),
    "shutil": frozenset("copy copy2 copyfile copyfileobj copytree move rmtree chown".split()),
}
MODULES = frozenset("random secrets uuid tempfile".split())
# Of paths, whatever they are called. `unlink` takes links away too, by two ids.
OF_PATHS = frozenset(
    "write_text write_bytes touch rmdir symlink_to hardlink_to mkdir chmod".split()
)
WRITING = frozenset("wax+")


def machine_calls(source: str, where: str) -> list[str]:
    """What only the seam may ask of the machine: the time, random bytes, changes to files."""
    found: list[tuple[int, str]] = []
    imports: list[ast.Import | ast.ImportFrom] = list(nodes(source, ast.Import))
    imports += nodes(source, ast.ImportFrom)
    for node in imports:
        found += [(node.lineno, name) for name in imported_from_machine(node)]
    for call in nodes(source, ast.Call):
        found += [(call.lineno, name) for name in called_on_machine(call)]
    return [f"{where}:{line}: {name} goes through store.seam" for line, name in sorted(found)]


def imported_from_machine(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in MODULES)
        return
    module = node.module or ""
    for alias in node.names:
        if module in MODULES or alias.name in ASKING.get(module, ()):
            yield f"{module}.{alias.name}"


def called_on_machine(node: ast.Call) -> Iterator[str]:
    asked = node.func
    if isinstance(asked, ast.Name) and asked.id == "open" and WRITING & set(mode_of(node)):
        yield "open"
    if not isinstance(asked, ast.Attribute):
        return
    owner = asked.value.id if isinstance(asked.value, ast.Name) else ""
    owner = asked.value.attr if isinstance(asked.value, ast.Attribute) else owner
    if asked.attr in ASKING.get(owner, ()):
        yield f"{owner}.{asked.attr}"
    elif not owner.endswith("seam"):
        is_path = asked.attr == "unlink" and not node.args
        if is_path or asked.attr in OF_PATHS:
            yield f".{asked.attr}()"


def mode_of(node: ast.Call) -> str:
    """The mode that a file is opened with."""
    given = [word.value for word in node.keywords if word.arg == "mode"] or node.args[1:2]
    return str(given[0].value) if given and isinstance(given[0], ast.Constant) else "r"


# --- what Windows does not have

POSIX_MODULES = frozenset("fcntl resource termios tty pty pwd grp".split())
POSIX_NAMES = frozenset("O_DIRECTORY O_NOFOLLOW replace rename fork".split())  # of os


def posix_uses(source: str, where: str) -> list[str]:
    """Uses of modules and names that only POSIX systems have, or that differ on Windows."""
    found: list[tuple[int, str]] = []
    for node in nodes(source, ast.Import):
        found += [(node.lineno, one.name) for one in node.names if one.name in POSIX_MODULES]
    for taken in nodes(source, ast.ImportFrom):
        if taken.module in POSIX_MODULES:
            found.append((taken.lineno, str(taken.module)))
        elif taken.module == "os":
            found += [(taken.lineno, one.name) for one in taken.names if one.name in POSIX_NAMES]
    for used in nodes(source, ast.Attribute):
        is_os = isinstance(used.value, ast.Name) and used.value.id == "os"
        if is_os and used.attr in POSIX_NAMES:
            found.append((used.lineno, used.attr))
    return [f"{where}:{line}: {name} belongs to store.posix" for line, name in sorted(found)]

"""The packages that an integration needs, and what is said if one is not installed.

Responsible for an error that names the extra to install. Leaves importing to each integration.
Invariant: the error is an ``ImportError`` too, so that code which expects one keeps working.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from recollect.errors import NotInstalled


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around the imports of an integration: a missing package is named by its extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise NotInstalled(
            f"the package {error.name!r} is not installed",
            hint=f"install it with: pip install 'recollect[{extra}]'",
        ) from error

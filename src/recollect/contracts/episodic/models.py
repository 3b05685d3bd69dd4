"""The values of this API as pydantic knows them, where it is installed.

Responsible for ``model_dump`` and ``model_validate``, and for telling a union apart by a field.
Leaves fields and their checks to ``values`` and ``deltas``. Invariant: pydantic is loaded only when
it, or one of these methods, is used; without it everything else works.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from recollect.errors import Unsupported

if TYPE_CHECKING:  # pydantic is optional
    from pydantic import GetCoreSchemaHandler, TypeAdapter

_ADAPTERS: dict[type, TypeAdapter[Any]] = {}  # making one takes a millisecond


class Model:
    """A value that goes to plain data and back, as a pydantic model does."""

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The value as a dict; ``mode="json"`` gives what JSON can hold."""
        found: dict[str, Any] = _adapter(type(self)).dump_python(self, **options)
        return found

    def model_dump_json(self, **options: Any) -> str:
        """The value as JSON."""
        return _adapter(type(self)).dump_json(self, **options).decode()

    @classmethod
    def model_validate(cls, given: object, **options: Any) -> Self:
        """The value of a dict; pydantic's ``ValidationError`` if it has other fields or types."""
        found: Self = _adapter(cls).validate_python(given, **options)
        return found

    @classmethod
    def model_validate_json(cls, given: str | bytes, **options: Any) -> Self:
        """The value of a JSON text."""
        found: Self = _adapter(cls).validate_json(given, **options)
        return found


def _adapter(model: type) -> TypeAdapter[Any]:
    try:
        from pydantic import TypeAdapter
    except ImportError as error:
        raise Unsupported("this needs pydantic", hint="pip install pydantic") from error
    if model not in _ADAPTERS:
        _ADAPTERS[model] = TypeAdapter(model)
    return _ADAPTERS[model]


class ToldApartBy:
    """In ``Annotated[A | B, ToldApartBy("kind")]``: what ``Field(discriminator="kind")`` says."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        from pydantic import Field

        return handler.generate_schema(Annotated[source, Field(discriminator=self._field)])

"""Parts of a trial that are looked up in a registry; a name that the registry lacks is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ..plugins.registry import Registry


def name_in(registry: Registry[Any], own: Sequence[str] = ()) -> Callable[[str], str]:
    """Return a validator that accepts only names in `registry`; its error lists these names.

    `own`: Further names that are accepted; the error lists them first.
    """

    def known(name: str) -> str:
        if name not in own and name not in registry:
            raise _unknown([*own, *registry.names()], registry.with_successor(name))
        return name

    return known


@dataclass(frozen=True)
class OfKind:
    """Annotation of a field whose content is validated by the registry's model of its ``kind``."""

    registry: Registry[Any]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Have the model of the content's kind validate the content."""
        return core_schema.no_info_before_validator_function(self._made, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe all kinds in the registry."""
        models = [model.__pydantic_core_schema__ for model in self.registry.values()]
        return handler(core_schema.union_schema(models))

    def _made(self, content: Any) -> Any:
        if not isinstance(content, Mapping):
            return content
        if "kind" not in content:
            raise _unknown(self.registry.names(), "no kind")
        if content["kind"] not in self.registry:
            raise _unknown(self.registry.names(), f"kind {content['kind']!r}")
        return self.registry.get(content["kind"]).model_validate(content)


def _unknown(names: Sequence[str], given: str) -> PydanticCustomError:
    *others, last = map(repr, dict.fromkeys(names))
    expected = f"{', '.join(others)} or {last}" if others else last
    told = {"expected": expected, "given": given}
    return PydanticCustomError("unknown_name", "Input should be {expected}", told)

"""Frozen records: the base of trials, results and claims, with errors of one sentence."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails, PydanticCustomError

from .errors import ElevatorLabError

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0)]
Repetitions = Annotated[int, Field(gt=0, le=1000)]
Cache = Literal["warm", "dropped", "direct"]


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PydanticCustomError("number", "expected a number")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise PydanticCustomError("whole_number", "expected a whole number")
    return value


#: A measured number. It keeps its type: a text is refused rather than converted, and an integer
#: stays an integer.
Number = Annotated[int | float, PlainValidator(_number), WithJsonSchema({"type": "number"})]
Whole = Annotated[int, PlainValidator(_whole), WithJsonSchema({"type": "integer"})]


def absent(default: Any) -> Any:
    """Return a field that is left out while it is empty, so that older trials keep their hashes."""
    return Field(default, exclude_if=lambda value: not value)


class Record(BaseModel):
    """Base of all records: unknown keys are refused, and an instance does not change once made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def as_given(self) -> dict[str, Any]:
        """Return the fields that were given, as JSON values; the others are left out."""
        return self.model_dump(mode="json", exclude_unset=True)


AnyRecord = TypeVar("AnyRecord", bound=Record)


def checked(
    record: type[AnyRecord], content: object, what: str, at: tuple[str, ...] = ()
) -> AnyRecord:
    """Validate `content` as a `record`.

    `what`: What `content` is; the error message begins with it. `at`: Path of the field that has
    this content, outermost name first, for the error message.
    """
    try:
        return record.model_validate(content)
    except ValidationError as problem:
        sentences = "; ".join(sentence(error, at) for error in _causes(problem))
        raise ElevatorLabError(f"{what}: {sentences}") from None


def _causes(problem: ValidationError) -> list[ErrorDetails]:
    """Return the errors, without "too short" for a list that only lacks its refused items."""
    errors = problem.errors()

    def has_wrong_items(error: ErrorDetails) -> bool:
        depth = len(error["loc"])
        inside = (one for one in errors if len(one["loc"]) > depth)
        return any(one["loc"][:depth] == error["loc"] for one in inside)

    return [one for one in errors if one["type"] != "too_short" or not has_wrong_items(one)]


def sentence(error: Mapping[str, Any], at: tuple[str, ...] = ()) -> str:
    """Say what one of pydantic's errors means: the field, what was given, what is allowed."""
    field = ".".join(str(part) for part in (*at, *error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{field}: no such parameter (given: {error['input']!r})"
    if error["type"] == "missing":
        return f"{field}: required, and not given"
    if error["type"] == "value_error":
        return str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in ("too_short", "too_long"):
        return f"{field}: expected {_length(error['ctx'])}"
    given = error.get("ctx", {}).get("given", repr(error["input"]))
    return f"{field}: {error['msg']} (given: {given})"


def _length(context: Mapping[str, Any]) -> str:
    """Say how long a list may be, and how long it is."""
    side, allowed = (
        ("at least", context["min_length"])
        if "min_length" in context
        else ("at most", context["max_length"])
    )
    items = "item" if allowed == 1 else "items"
    return f"{side} {allowed} {items}; found {context['actual_length'] or 'none'}"

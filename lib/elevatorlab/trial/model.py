"""What every part of a trial is made of: frozen models, whose errors are one sentence."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import ElevatorLabError

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0)]
Repetitions = Annotated[int, Field(gt=0, le=1000)]
Cache = Literal["warm", "dropped", "direct"]


class Model(BaseModel):
    """Unknown keys are refused; a value, once made, does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def checked(model, content, what):
    """Validate `content` as `model`; an error names the field, what was given, what is allowed.

    Raises
    ------
    ElevatorLabError
    """
    try:
        return model.model_validate(content)
    except ValidationError as problem:
        raise ElevatorLabError(f"{what}: " + "; ".join(map(_sentence, problem.errors()))) from None


def _sentence(error):
    field = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{field}: no such parameter (given: {error['input']!r})"
    if error["type"] == "missing":
        return f"{field}: required, and not given"
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    return f"{field}: {error['msg']} (given: {error['input']!r})"

"""A picture that sliders redraw; in a stored page, the picture for the values at the start."""

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets
from IPython.display import SVG, Image, display
from matplotlib.figure import Figure

from ..showing.pictures import picture

#: Lowest, highest, step, and the value to begin with.
Control = tuple[float, float, float, float]

WIDGET = "application/vnd.jupyter.widget-view+json"


def explore(draw: Callable[..., Figure], **controls: Control) -> None:
    """Show ``draw(**values)`` with a slider for each value.

    The picture is an output of its own, so that a page made from the notebook contains it.

    `controls`: For each argument of `draw`: (lowest, highest, step, value to begin with).
    """
    sliders = {name: _slider(name, *control) for name, control in controls.items()}

    def drawn() -> Image | SVG:
        return picture(draw(**{name: slider.value for name, slider in sliders.items()}))

    shown = display(drawn(), display_id=True)

    for slider in sliders.values():
        slider.observe(lambda _: shown.update(drawn()), names="value")
    box = ipywidgets.VBox(list(sliders.values()))
    display({"text/plain": _words(controls), WIDGET: _view(box)}, raw=True)


def show(figure: Figure) -> None:
    """Show a figure."""
    display(picture(figure))


def _slider(name: str, low: float, high: float, step: float, value: float) -> ipywidgets.Widget:
    whole = all(isinstance(number, int) for number in (low, high, step, value))
    kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
    return kind(
        value=value,
        min=low,
        max=high,
        step=step,
        description=name,
        continuous_update=False,
        style={"description_width": "10em"},
        layout={"width": "40em"},
    )


def _view(box: ipywidgets.Widget) -> dict[str, Any]:
    return {"version_major": 2, "version_minor": 0, "model_id": box.model_id}


def _words(controls: Mapping[str, Control]) -> str:
    ranges = (f"{name} from {low} to {high}" for name, (low, high, _, _) in controls.items())
    return f"Sliders, in a notebook that runs: {', '.join(ranges)}."

"""A picture that a slider redraws; where nobody can move it, the picture as it begins."""

import ipywidgets
from IPython.display import Image, display

from .. import figures

WIDGET = "application/vnd.jupyter.widget-view+json"


def explore(draw, **controls):
    """Show ``draw(**values)`` with a slider for each value.

    The picture is an output of its own, so that a page made of the notebook has it, too.

    Parameters
    ----------
    draw : callable
        Returns a figure.
    controls : dict
        For each of its arguments (lowest, highest, step, value to begin with).
    """
    sliders = {name: _slider(name, *control) for name, control in controls.items()}

    def drawn():
        return _picture(draw(**{name: slider.value for name, slider in sliders.items()}))

    shown = display(drawn(), display_id=True)

    for slider in sliders.values():
        slider.observe(lambda _: shown.update(drawn()), names="value")
    box = ipywidgets.VBox(list(sliders.values()))
    display({"text/plain": _words(controls), WIDGET: _view(box)}, raw=True)


def show(figure):
    """Show a figure."""
    display(_picture(figure))


def _picture(figure):
    return Image(figures.preview(figure, dpi=100), format="png")


def _slider(name, low, high, step, value):
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


def _view(box):
    return {"version_major": 2, "version_minor": 0, "model_id": box.model_id}


def _words(controls):
    ranges = (f"{name} from {low} to {high}" for name, (low, high, _, _) in controls.items())
    return f"Sliders, in a notebook that runs: {', '.join(ranges)}."

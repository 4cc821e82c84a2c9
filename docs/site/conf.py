"""What Sphinx asks for. Nothing in the site comes from the network."""

import re

from elevatorlab import __version__

project = "Elevator Lab"
author = copyright = "Elevator Lab contributors"
release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "Elevator Lab"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
smartquotes = False  # they would make one dash of the two before an option

html_static_path = ["static"]
html_css_files = ["site.css"]

nb_execution_mode = "off"  # gather.py has run them
nb_render_markdown_format = "myst"
# The widgets' scripts would come from a server, so a page says in words what the sliders are.
nb_ipywidgets_js = {}
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# Rooms have classes of one name, and a bare name leads to either. Not every language has colours.
suppress_warnings = ["ref.python", "misc.highlighting_failure"]
# Its alias is a regular expression, which is no markup.
autodoc_default_options = {"exclude-members": "KernelName, model_config"}


def setup(app):
    """Take the space out of names that share a line: before it, Sphinx expects a type."""

    def joined(app, what, name, found, options, lines):
        shared = r"^(?:\w+, )+\w+(?= : )" if what == "class" else "$^"
        lines[:] = [re.sub(shared, lambda one: one[0].replace(" ", ""), line) for line in lines]

    app.connect("autodoc-process-docstring", joined, priority=400)

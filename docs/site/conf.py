"""What Sphinx asks for. Nothing in the site comes from the network."""

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

# Notebooks are shown as they are stored, and their widgets' scripts would come from a server.
nb_execution_mode = "off"
nb_ipywidgets_js = {}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# Rooms have classes of one name, and a bare name leads to either. Not every language has colours.
suppress_warnings = ["ref.python", "misc.highlighting_failure"]
# Its alias is a regular expression, which is no markup.
autodoc_default_options = {"exclude-members": "KernelName"}

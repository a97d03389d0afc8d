"""Sphinx's configuration of the documentation site; scripts/docs.sh builds it from build/site-source."""
import os
import sys

project = "tandem"
author = "the tandem authors"
html_title = "tandem"

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
extensions = ["myst_parser", "api_domain", "search_words"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
highlight_language = "none"
# Code in comments and pages may contain `...` or output.
suppress_warnings = ["misc.highlighting_failure"]
nitpicky = True
toc_object_entries = False

html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["tandem.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
html_search_scorer = os.path.join(HERE, "search_scorer.js")
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

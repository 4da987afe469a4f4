"""The documentation site: every page of ``docs/`` and of the root, the interface from its docstrings, no outside files.

make docs
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from microtome import __version__  # noqa: E402

project = "Microtome"
version = release = __version__
copyright = "the Microtome developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/decisions/*.md", "examples/README.md", "[A-Z]*.md"]
exclude_patterns = ["README.md"]  # docs/index.md takes its place
highlight_language = "none"
suppress_warnings = ["myst.strikethrough"]

myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Microtome"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["../../build/gallery"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"

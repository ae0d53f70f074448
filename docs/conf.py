"""Configuration of the documentation: numpydoc reference, MyST pages, an executed gallery."""

import os
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import fwbq

project = "fwbq"
author = "The fwbq developers"
copyright = author
release = version = fwbq.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/*.py"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "fwbq"
html_static_path = ["_static"]
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"/hpn_dream|/__init__",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
}
suppress_warnings = ["config.cache"]
warnings.filterwarnings("ignore", message="Matplotlib is currently using agg")


def _write_pairs(app):
    """Write the table of kernel x measure pairs from the registry, so that it cannot be out of date."""
    target = Path(app.srcdir) / "generated" / "pairs.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(fwbq.embeddings.table() + "\n")


def setup(app):
    app.connect("builder-inited", _write_pairs)

"""Configuration of the documentation: numpydoc reference, MyST pages, an executed gallery."""

import os
import re
import sys
import warnings
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import fwbq

project = "fwbq"
author = "The fwbq developers"
copyright = author
release = version = fwbq.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "_build",
    "generated/pairs.md",
    "gallery/**/*.ipynb",
    "gallery/*.py",
    "gallery/*.codeobj.json",
]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath", "colon_fence", "substitution"]
myst_substitutions = {"release": release}
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# In the list of headings a method of a class stands under its own name; with the class before it, it is too long.
toc_object_entries_show_parents = "hide"

# Every reference to one of our own names must resolve; those of other projects would need a network.
nitpicky = True
_OTHERS = "numpy|scipy|pandas|matplotlib|concurrent|np|os|pathlib|collections|typing|abc"
nitpick_ignore_regex = [("py:.*", rf"({_OTHERS})\..*")]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "fwbq"
html_static_path = ["_static"]
html_css_files = ["fwbq.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_center": [],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": ["globaltoc.html"]}
html_show_sourcelink = False
# What is copied are commands: neither the prompts of Python and of the shell nor what was printed.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = (
    "div:not(.highlight-text):not(.sphx-glr-script-out) > div.highlight > pre"
)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "within_subsection_order": "gallery_order.FirstStepsFirst",
}
suppress_warnings = ["config.cache"]
warnings.filterwarnings("ignore", message="Matplotlib is currently using agg")


def _properties(fullname):
    """Names of a class's own documented properties; its fields are in the docstring's list of attributes."""
    module, _, name = fullname.rpartition(".")
    members = vars(getattr(__import__(module, fromlist=[name]), name))
    return [
        key
        for key, value in members.items()
        if isinstance(value, property) and not key.startswith("_")
    ]


autosummary_context = {"properties": _properties}


def _write_pairs(app):
    """Write the table of kernel x measure pairs from the registry, so that it cannot be out of date."""
    target = Path(app.srcdir) / "generated" / "pairs.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(fwbq.embeddings.table() + "\n")


LITERAL = re.compile(r"(:math:`[^`]*`|``[^`]*``|`[^`]*`__?)")


def _escape_bars(app, what, name, obj, options, lines):
    r"""Escape bars outside formulas and code: docstrings write \|w\| for an absolute value, not for a substitution."""
    skipped = None  # indentation of a block that is left alone: displayed formulas, doctests, tables
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if skipped is not None and (
            not line.strip() or indent > skipped or line.lstrip().startswith((">>>", "..."))
        ):
            continue
        skipped = None
        if line.lstrip().startswith((".. math::", ".. code", ">>>", "...")):
            skipped = indent if line.lstrip().startswith("..") else indent - 1
            continue
        parts = LITERAL.split(line)
        lines[i] = "".join(
            part if LITERAL.fullmatch(part) else part.replace("|", r"\|") for part in parts
        )


def _formula(self, node, *, as_block):
    """Write a formula as MathML, which browsers set by themselves: no script, no network."""
    # Commands that docutils does not know: brackets of a size that is given grow with what they enclose.
    formula = node.astext().strip().replace(r"\dots", r"\ldots")
    formula = re.sub(r"\\[Bb]igg?(?:l(?![a-zA-Z])|(?=[(\[]))", r"\\left", formula)
    formula = re.sub(r"\\[Bb]igg?(?:r(?![a-zA-Z])|(?=[)\]]))", r"\\right", formula)
    formula = re.sub(r"\\[Bb]igg?(?![a-zA-Z])", "", formula)
    formula = re.sub(r"\\[td]?frac(\w)(\w)", r"\\frac{\1}{\2}", formula)
    try:
        # Double bars are told not to stretch, as single ones are: the closing one, under a power, would be shorter.
        setting = tex2mathml(formula, as_block=as_block)
        self.body.append(setting.replace("<mo>‖</mo>", '<mo stretchy="false">‖</mo>'))
    except MathError as error:
        logging.getLogger(__name__).warning(
            "cannot set %r: %s", node.astext(), error, location=node
        )
    raise nodes.SkipNode


def _mark_numbers(app, doctree):
    """Mark short table cells with a number, so that the style sheet can keep each on one line."""
    for cell in doctree.findall(nodes.entry):
        text = cell.astext()
        if len(text) <= 10 and re.search(r"\d", text):
            cell["classes"].append("number")


def setup(app):
    inline, block = partial(_formula, as_block=False), partial(_formula, as_block=True)
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("builder-inited", _write_pairs)
    app.connect("doctree-read", _mark_numbers)
    app.connect("autodoc-process-docstring", _escape_bars, priority=100)

"""How Sphinx builds the site: ``make docs``, without a network. Pages are in Markdown (MyST)."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jupytext

HERE = Path(__file__).parent

project = "BoGrape"
author = "BoGrape contributors"
copyright = "2026, BoGrape contributors"  # Sphinx asks for this name
release = version = version_of("bogrape")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "results/**", "README.md"]
html_title = "BoGrape"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#6d28d9", "color-brand-content": "#6d28d9"},
    "dark_css_variables": {"color-brand-primary": "#a78bfa", "color-brand-content": "#a78bfa"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"

# Formulas: MathJax draws them as SVG from one file, copied from a package when the site is built.
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}  # the menu would load further files

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
suppress_warnings = [
    "mystnb.unknown_mime_type",
    "ref.python",  # names of attributes that several classes have
]

# Tutorials are notebooks in Markdown and run when the site is built.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

# Kernels have a configuration of their own, and say nothing about how they are connected.
_KERNELS = HERE.parent / "build" / "ipython" / "profile_default"
_KERNELS.mkdir(parents=True, exist_ok=True)
(_KERNELS / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = str(_KERNELS.parent)

# Docstrings
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autoclass_content = "both"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 88

# Names that docstrings use without their module, and where each is described.
_HOMES = (
    "bogrape",
    "bogrape.constraints",
    "bogrape.kernels",
    "bogrape.study",
    "bogrape.study.settings",
    "bogrape.surrogate",
    "bogrape.domain",
    "bogrape.evaluate",
    "bogrape.molecules",
    "bogrape.properties",
    "bogrape.errors",
)


def _copy_files(app: Any) -> None:
    """MathJax, and the pictures that ``rules.md`` names in HTML, which Sphinx does not look at."""
    shutil.copytree(HERE / "rules", Path(app.outdir) / "rules", dirs_exist_ok=True)
    spec = find_spec("sphinx-mathjax-offline")
    if spec is None or spec.submodule_search_locations is None:
        raise RuntimeError("formulas need sphinx-mathjax-offline; try: pip install 'bogrape[docs]'")
    source = Path(spec.submodule_search_locations[0]) / "static" / "mathjax" / mathjax_path
    target = Path(app.outdir) / "_static"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target / mathjax_path)


def _write_notebooks(app: Any, error: Exception | None) -> None:
    """The tutorials as .ipynb files, to be downloaded from their pages."""
    if error is not None or app.builder.name != "html":
        return
    target = Path(app.outdir) / "notebooks"
    target.mkdir(exist_ok=True)
    for page in sorted((HERE / "tutorials").glob("*.md")):
        notebook = jupytext.read(page)
        notebook.cells = [
            c for c in notebook.cells if "remove-cell" not in c.metadata.get("tags", ())
        ]
        jupytext.write(notebook, target / f"{page.stem}.ipynb")


def _find_short_name(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Resolve `Study` or `Study.tell`, as docstrings write them, to ``bogrape.Study``."""
    if node.get("refdomain") != "py":
        return None
    python = env.get_domain("py")
    for home in _HOMES:
        name = f"{home}.{node['reftarget']}"
        if name in python.objects:
            return python.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)
    return None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _copy_files)
    app.connect("build-finished", _write_notebooks)
    app.connect("missing-reference", _find_short_name)

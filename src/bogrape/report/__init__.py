"""Pictures of graphs, figures of optimisation runs, and the report in one HTML file.

Figures need the extra ``[plots]``; everything else, small pictures of graphs included, does not.
"""

from .html import report_html, write_report

__all__ = ["report_html", "write_report"]

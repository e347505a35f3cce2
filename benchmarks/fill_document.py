"""Documents with generated tables: everything between the marks is replaced."""

from __future__ import annotations

import re
from collections.abc import Callable

from bogrape.errors import InvalidInputError

_START = re.compile(r"^<!-- bench ", re.MULTILINE)
_SECTION = re.compile(
    r"^<!-- bench (?P<name>\S+) -->\n(?P<body>.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE
)


def filled(text: str, section: Callable[[str], str]) -> str:
    """The text with everything between each pair of marks replaced by ``section(name)``.

    >>> print(filled("a\\n<!-- bench x -->\\nold\\n<!-- end -->\\nb", str.upper))
    a
    <!-- bench x -->
    X
    <!-- end -->
    b
    """
    if not _START.search(text):
        raise InvalidInputError(
            "expected a line <!-- bench NAME --> and, somewhere after it, a line <!-- end -->; "
            "the document has none, so there is nothing to fill"
        )
    if len(_START.findall(text)) != len(_SECTION.findall(text)):
        raise InvalidInputError(
            "expected a line <!-- end --> after each line <!-- bench NAME -->, with no other text"
        )
    return _SECTION.sub(
        lambda found: f"<!-- bench {found['name']} -->\n{section(found['name'])}\n<!-- end -->",
        text,
    )

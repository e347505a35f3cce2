"""Words for the descriptions of rules."""

from __future__ import annotations

from collections.abc import Iterable

from ..domain import GRAPHS, Nouns
from .rule import Label, NamedLabel, NamedNode, Node, Rule


def in_words(rules: Iterable[Rule], nouns: Nouns = GRAPHS) -> str:
    """Descriptions of rules, one sentence per rule; rules without a description are left out."""
    spoken = (rule for rule in rules if type(rule).describe is not Rule.describe)
    return " ".join(dict.fromkeys(rule.describe(nouns) for rule in spoken))


def at_least_or_most(low: float | None, high: float | None) -> str:
    """A range in words; ``None`` on a side without a bound.

    >>> at_least_or_most(None, 3), at_least_or_most(2.5, None), at_least_or_most(2, 2)
    ('at most 3', 'at least 2.5', 'exactly 2')
    """
    lowest, highest = (str(x) if isinstance(x, int) else f"{x or 0:g}" for x in (low, high))
    if low is None:
        return f"at most {highest}"
    if high is None:
        return f"at least {lowest}"
    return f"exactly {lowest}" if low == high else f"{lowest} to {highest}"


def amount(low: int, high: int | None, one: str, many: str) -> str:
    """A range in words, e.g. ``at most 3 edges``."""
    span = at_least_or_most(None if low == 0 and high else low, high)
    return f"{span} {one if (low if high is None else high) == 1 else many}"


def called(thing: Label | Node) -> str:
    """A label or a node by its name, or else by its number."""
    return thing.name if isinstance(thing, (NamedLabel, NamedNode)) else str(thing)


def with_article(noun: str) -> str:
    """The noun with "a" or "an", chosen by its spelling.

    >>> with_article("edge"), with_article("bond"), with_article("O"), with_article("C")
    ('an edge', 'a bond', 'an O', 'a C')
    """
    first = noun[:1]
    vowel = first.upper() in "AEFHILMNORSX" if len(noun) == 1 else first.lower() in tuple("aeiou")
    return f"{'an' if vowel else 'a'} {noun}"


def capitalised(sentence: str) -> str:
    """The sentence with a capital letter."""
    return f"{sentence[:1].upper()}{sentence[1:]}"

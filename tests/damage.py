"""Seeded ways to damage a database of studies, for tests of how damage is handled."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

Content = bytearray

_TABLES = ("bogrape_trials", "bogrape_studies")


def flip_bits(path: Path, rng: random.Random) -> str:
    """Flip one to three bits."""
    content = bytearray(path.read_bytes())
    places = [rng.randrange(8 * len(content)) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    for place in places:
        content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)
    return f"flipped bits {places}"


def flip_bit_of_schema(path: Path, rng: random.Random) -> str:
    """Flip one bit of the first page, which holds the header and the text of the schema."""
    content = bytearray(path.read_bytes())
    place = rng.randrange(8 * _page_size(content))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)
    return f"flipped bit {place} of the first page"


def overwrite(path: Path, rng: random.Random) -> str:
    """Overwrite a stretch with noise."""
    content = bytearray(path.read_bytes())
    length = rng.choice((4, 64, 512))
    place = rng.randrange(len(content) - length)
    content[place : place + length] = rng.randbytes(length)
    path.write_bytes(content)
    return f"{length} bytes of noise at {place}"


def truncate(path: Path, rng: random.Random) -> str:
    """Cut the end off, from a byte to the whole file."""
    content = path.read_bytes()
    pages = len(content) // _page_size(content)
    by_page = rng.randrange(pages) * _page_size(content)
    left = rng.choice((by_page, rng.randrange(len(content)), len(content) - 1))
    path.write_bytes(content[:left])
    return f"cut to {left} of {len(content)} bytes"


def swap_pages(path: Path, rng: random.Random) -> str:
    """Swap two pages."""
    content = bytearray(path.read_bytes())
    size = _page_size(content)
    a, b = rng.sample(range(len(content) // size), 2)
    one, two = slice(a * size, (a + 1) * size), slice(b * size, (b + 1) * size)
    content[one], content[two] = content[two], content[one]
    path.write_bytes(content)
    return f"swapped pages {a} and {b}"


def zero_page(path: Path, rng: random.Random) -> str:
    """Zero a page, or a sector of one."""
    content = bytearray(path.read_bytes())
    size = rng.choice((_page_size(content), 512))
    place = rng.randrange(len(content) // size) * size
    content[place : place + size] = bytes(size)
    path.write_bytes(content)
    return f"zeroed {size} bytes at {place}"


def stale_page(path: Path, rng: random.Random) -> str:
    """Undo the last changes of a page, like a write that never reached the disk."""
    older = path.with_suffix(".older").read_bytes()
    content = bytearray(path.read_bytes())
    size = _page_size(content)
    changed = [
        i
        for i in range(min(len(older), len(content)) // size)
        if older[i * size : (i + 1) * size] != content[i * size : (i + 1) * size]
    ]
    page = rng.choice(changed)
    content[page * size : (page + 1) * size] = older[page * size : (page + 1) * size]
    path.write_bytes(content)
    return f"page {page} is stale"


def tamper(path: Path, rng: random.Random) -> str:
    """Change the tables with SQL, so that the file itself is sound."""
    connection = sqlite3.connect(path)
    numbers = [n for (n,) in connection.execute("SELECT number FROM bogrape_trials")]
    a, b = rng.sample(numbers, 2)
    statement = rng.choice(
        (
            f"DELETE FROM bogrape_trials WHERE number = {a}",
            f"DELETE FROM bogrape_trials WHERE number >= {max(a, 1)}",
            "DELETE FROM bogrape_trials",
            "DELETE FROM bogrape_studies",
            f"UPDATE bogrape_trials SET value = value + 0.5 WHERE number = {a}",
            f"UPDATE bogrape_trials SET value = -value, state = state WHERE number = {a}",
            f"UPDATE bogrape_trials SET state = 'failed', value = NULL WHERE number = {a}",
            f"UPDATE bogrape_trials SET number = number + 1000 WHERE number = {a}",
            f"UPDATE bogrape_trials SET revision = 0 WHERE number = {a}",
            f"UPDATE bogrape_trials SET key = NULL WHERE number = {a}",
            f"UPDATE bogrape_trials SET study = 2 WHERE number = {a}",
            "UPDATE bogrape_trials SET graph = (SELECT graph FROM bogrape_trials "
            f"WHERE number = {b}) WHERE number = {a}",
            f"UPDATE bogrape_trials SET checksum = 'x' WHERE number = {a}",
            "UPDATE bogrape_studies SET n_trials = n_trials - 1",
            "UPDATE bogrape_studies SET n_trials = n_trials + 1",
            "UPDATE bogrape_studies SET revision = 3",
            "UPDATE bogrape_studies SET name = 'other'",
            "UPDATE bogrape_studies SET settings = replace(settings, 'ssp', 'esp')",
            "UPDATE bogrape_studies SET settings = replace(settings, '60.0', '61.0')",
            "UPDATE bogrape_studies SET changes = '[{\"changed\": {}}]'",
            "UPDATE bogrape_schema SET version = version + 1",
            "UPDATE bogrape_schema SET version = 1",
            "DELETE FROM bogrape_schema",
            "DROP TABLE bogrape_schema",
            "DROP TABLE bogrape_trials",
            "DROP INDEX bogrape_trials_by_revision",
            "CREATE TRIGGER t AFTER UPDATE ON bogrape_trials BEGIN DELETE FROM bogrape_trials; END",
            "ALTER TABLE bogrape_trials RENAME COLUMN value TO worth",
            "PRAGMA application_id = 7",
        )
    )
    connection.execute(statement)
    connection.commit()
    connection.close()
    return statement


WAYS: dict[str, Callable[[Path, random.Random], str]] = {
    way.__name__: way
    for way in (
        flip_bits,
        flip_bit_of_schema,
        overwrite,
        truncate,
        swap_pages,
        zero_page,
        stale_page,
        tamper,
    )
}


def _page_size(content: bytes | bytearray) -> int:
    size = int.from_bytes(content[16:18], "big")
    return 65536 if size == 1 else size

"""``bogrape serve``: studies in a browser and over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from .errors import explained
from .import_folder import import_from


@click.command()
@click.argument("storage", metavar="STUDY.DB")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; any but a loopback address requires a token.",
)
@click.option(
    "--token",
    envvar="BOGRAPE_TOKEN",
    help="Token required to log in. By default one is created if needed and shown once.",
)
@click.option("--new-token", is_flag=True, help="Create a new token; the old one becomes invalid.")
@click.option("--read-only", is_flag=True, help="Show everything, change nothing.")
@click.option(
    "--public-url",
    help="URL under which a proxy publishes the server, e.g. https://studies.example.org",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Number of requests for suggestions computed at the same time.",
)
@explained
def serve(
    storage: str,
    port: int,
    host: str,
    token: str | None,
    new_token: bool,
    read_only: bool,
    public_url: str | None,
    processes: int,
) -> None:
    """Serve the studies of STUDY.DB to browsers, and to programs over HTTP.

    STUDY.DB is a SQLite file, created if it does not exist, or the URL of a database.
    """
    from ..web.server import serve as run

    import_from(Path.cwd())  # for a domain defined there
    run(
        storage,
        port=port,
        host=host,
        token=token,
        new_token=new_token,
        read_only=read_only,
        public_url=public_url,
        n_processes=processes,
        say=click.echo,
    )

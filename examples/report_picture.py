"""Make the picture of a report for the README: python examples/report_picture.py docs/report.png

Runs the study of ``tutorial.py``, writes its report and photographs the top of it with Chromium.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTH, HEIGHT = 1240, 1170
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)


def main(output: Path) -> None:
    """Write the picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("Chromium is needed to photograph a page; on Debian: apt-get install chromium")
    report = runpy.run_path(str(Path(__file__).with_name("tutorial.py")))["report"]
    with tempfile.TemporaryDirectory() as folder:
        photograph = Path(folder) / "report.png"
        subprocess.run(
            [
                *(chromium, *FLAGS, f"--user-data-dir={folder}/profile"),
                *(f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={photograph}"),
                report.as_uri(),
            ],
            check=True,
            timeout=120,
            capture_output=True,
        )
        shutil.copyfile(photograph, output)
    print(f"wrote {output}: {output.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "report.png"))

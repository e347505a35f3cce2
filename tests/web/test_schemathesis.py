"""Requests that Schemathesis (pip install schemathesis) derives from the OpenAPI document."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from bogrape import Study

from web_cases import new_study

pytest.importorskip("starlette")
pytest.importorskip("schemathesis")
pytestmark = pytest.mark.deep
N_EXAMPLES = os.environ.get("BOGRAPE_EXAMPLES", "30")  # per endpoint


@pytest.mark.timeout(1200)
def test_no_request_derived_from_the_document_causes_a_server_error(tmp_path: Path) -> None:
    url = new_study(tmp_path, name="one", time_limit=0.5)
    study = Study.load(url, "one")
    for trial in study.ask(4)[:2]:  # type: ignore[index]
        study.tell(trial, 1.0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    # use existing names most of the time, since made-up ones only lead to 404
    hints = tmp_path / "hints.py"
    hints.write_text(
        "import schemathesis\n"
        "@schemathesis.hook\n"
        "def map_path_parameters(context, path_parameters):\n"
        "    if path_parameters and 'name' in path_parameters:\n"
        "        if len(str(path_parameters)) % 5:\n"
        "            path_parameters['name'] = 'one'\n"
        "            if 'trial' in path_parameters and isinstance(path_parameters['trial'], int):\n"
        "                path_parameters['trial'] %= 8\n"
        "    return path_parameters\n"
    )
    log = tmp_path / "log.txt"
    with log.open("w") as errors:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "bogrape", "serve", str(tmp_path / "study.db")),
                *("--port", str(port)),
            ],
            env={**os.environ, "BOGRAPE_STATE": str(tmp_path)},
            stdout=errors,
            stderr=errors,
        )
        try:
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"{base}/healthz", timeout=5).read()
                    break
                except OSError:
                    time.sleep(0.2)
            done = subprocess.run(
                [
                    *(str(Path(sys.executable).parent / "schemathesis"), "run"),
                    *(f"{base}/openapi.json", "--checks", "not_a_server_error"),
                    *("--max-examples", N_EXAMPLES, "--mode", "all", "--request-timeout", "60"),
                    *("--seed", "1", "--phases", "examples,coverage,fuzzing", "--no-color"),
                ],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "SCHEMATHESIS_HOOKS": str(hints)},
                cwd=tmp_path,
                timeout=1100,
            )
        finally:
            server.terminate()
            server.wait(30)
    print(done.stdout[-3000:])
    print(log.read_text()[-3000:])
    found = re.search(r"(\d+) generated", done.stdout)
    assert found is not None
    assert int(found[1]) > 300
    assert done.returncode == 0

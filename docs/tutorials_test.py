"""The commands of the tutorials, executed as they are written.

Each document's ```sh blocks run one after the other, in one bash, in a copy of what they use, where ./octlm
hands over to the program that was built. So nothing is installed or built again, and what `register` and
`run` write goes into the copy.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PROGRAM = os.environ["OCTLM_PROGRAM"]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "octlm" / "checkpoints"

LAUNCHER = f"""#!/bin/sh
root="$(cd "$(dirname "$0")" && pwd -P)"
[ "$1" = fetch ] && exec ls -d "{CACHE}/$2"
OCTLM_ROOT="$root" OCTLM_VENV_PYTHON="$root/.venv/bin/python" HF_HUB_OFFLINE=1 exec "{PROGRAM}" "$@"
"""


def commands(document):
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs" / document).read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4, f"docs/{document}: only {len(blocks)} blocks were found"
    return "set -euo pipefail\n" + "\n".join(blocks)


@pytest.fixture
def checkout(tmp_path):
    if not (CACHE / "qwen3-mini-synthetic" / "model.safetensors").exists():
        pytest.skip("not run: no checkpoint; get it with: ./octlm fetch qwen3-mini-synthetic")
    root = tmp_path / "checkout"
    for folder in ("experiments", "examples", "docs"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "octlm").write_text(LAUNCHER)
    (root / "octlm").chmod(0o755)
    (root / ".venv").symlink_to(pathlib.Path(sys.prefix))
    (root / ".gitignore").write_text("/reports/*\n!/reports/published/\n/.venv\n")
    (root / "reports").mkdir()
    if (ROOT / "reports" / "published").exists():  # the ledger names them
        shutil.copytree(ROOT / "reports" / "published", root / "reports" / "published")
    git = ["git", "-c", "user.name=reader", "-c", "user.email=reader@example.invalid"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a copy"]):
        subprocess.run(git + arguments, cwd=root, check=True)
    return root


@pytest.mark.parametrize("document", ["your-engine.md", "add-a-check.md"])
def test_the_commands_do_what_the_document_says(document, checkout):
    start = time.monotonic()
    script = commands(document)
    if b" register" not in subprocess.run([PROGRAM, "--help"], capture_output=True, check=True).stdout:
        script = script.split("./octlm register")[0]  # a program that keeps no ledger yet
    variables = {name: value for name, value in os.environ.items() if not name.startswith("OCTLM_")}
    for _ in range(2):  # a reader may begin again, in the same clone
        done = subprocess.run(["bash", "-c", script], cwd=checkout, capture_output=True, text=True,
                              timeout=500, env=variables | {"PYTHONDONTWRITEBYTECODE": "1"})
        print(f"{document}: {time.monotonic() - start:.1f} s")
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    if document == "your-engine.md":
        reports = checkout / "reports" / "tutorial"
        assert "numpy" in (reports / "numpy" / "results.jsonl").read_text()
        assert '"source":"recorded"' in (reports / "recorded" / "results.jsonl").read_text().replace(" ", "")
        for engine in ("ours", "theirs"):
            assert (reports / f"{engine}.safetensors").stat().st_size > 3 * 2048 * 4
        for run in ("numpy", "recorded", "outside"):
            assert '"verdict":"pass"' in (reports / run / "results.jsonl").read_text().replace(" ", "")
    else:
        claims = sorted((checkout / "experiments" / "registered").glob("*.json"))
        made = [claim for claim in claims if "one token repeated" in claim.read_text()]
        assert len(made) == 2 and all("REPLACE" not in claim.read_text() for claim in made)


def test_links_lead_somewhere():
    for document in ("your-engine.md", "add-a-check.md", "logits-filter.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "docs" / document).read_text()):
            assert (ROOT / "docs" / target).exists(), f"{document}: {target}"

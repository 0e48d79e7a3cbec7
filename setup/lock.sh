#!/usr/bin/env bash
# Re-locks the Python environment: three levels, each contained in the next, with hashes, for
# Python 3.10 to 3.13. Run it after changing a .in file; it needs the .venv that ./octlm makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock() { # lock INPUT OUTPUT [uv options]
  UV_CUSTOM_COMPILE_COMMAND=setup/lock.sh .venv/bin/uv pip compile --quiet --universal \
    --python-version 3.10 --generate-hashes --no-emit-index-url --no-emit-find-links \
    "$1" --output-file "$2" "${@:3}"
}

lock reference/requirements.in reference/requirements.txt "$@"
for level in setup/requirements-build setup/checkpoints/requirements; do
  lock "$level.in" "$level.txt" --constraint reference/requirements.txt
done

# The sizes that ./octlm announces, of an environment that holds the new lists.
.venv/bin/uv pip sync --python .venv/bin/python --require-hashes reference/requirements.txt
.venv/bin/python -I setup/sizes.py >setup/sizes.tsv

#!/bin/sh
# Runs every notebook from its first cell to its last with the built wheel, and fails where a cell fails.
set -eu
trial=$1
wheels=$2

if [ -z "${HEADWATER_CORPUS:-}" ]; then
    count=$(find notebooks -name '*.ipynb' | wc -l)
    echo "left out: $count notebooks, because HEADWATER_CORPUS names no folder of real chain data"
    exit 0
fi
"$trial/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/requirements-notebooks.txt
"$trial/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/headwater-*.whl
PATH="$trial/bin:$PATH" "$trial/bin/python" scripts/notebooks.py notebooks

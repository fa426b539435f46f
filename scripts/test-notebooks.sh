#!/bin/sh
# Runs every notebook with the built wheel and compares its outputs with those in the file (check), or writes them into the
# file (refresh). Those on real data run with HEADWATER_FULL.
# $1: the environment; $2: the folder of wheels; $3: check or refresh.
set -eu
trial=$1
wheels=$2
command=$3

"$trial/bin/pip" install --quiet --disable-pip-version-check --requirement scripts/requirements-notebooks.txt
"$trial/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/headwater-*.whl
PATH="$trial/bin:$PATH"
python scripts/notebooks.py "$command" notebooks/*.ipynb

count=$(find notebooks/real-data -name '*.ipynb' | wc -l)
if [ -z "${HEADWATER_FULL:-}" ]; then
    echo "left out: $count notebooks on real chain data, which take longer: make test-full"
elif [ -z "${HEADWATER_CORPUS:-}" ]; then
    echo "left out: $count notebooks, because HEADWATER_CORPUS names no folder of real chain data"
else
    python scripts/notebooks.py run notebooks/real-data/*.ipynb
fi

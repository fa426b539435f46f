#!/bin/sh
# Builds the store of a preset, asks the engine and its peers, and writes the report of all results there are.
set -eu
: "${BENCH_BIN:?}" "${BENCH_FOLDER:?}" "${BENCH_PYTHON:?}" "${PRESET:?}"

bench() { "$BENCH_BIN" --preset "$PRESET" --folder "$BENCH_FOLDER" "$@"; }

if [ "$PRESET" = s ]; then
    # Small enough for every push: whether all answers are right, and no judgement of time.
    bench load
    bench run --compare --python "$BENCH_PYTHON"
    exit
fi
bench load
bench run --python "$BENCH_PYTHON"
bench cold --python "$BENCH_PYTHON"
bench memory
bench report --reasons rust/bench/reasons.json --made-by "make bench PRESET=$PRESET"

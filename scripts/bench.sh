#!/bin/sh
# Builds the store of a preset, asks the engine and its peers, and writes the report of all results there are.
set -eu
: "${BENCH_BIN:?}" "${BENCH_FOLDER:?}" "${BENCH_PYTHON:?}" "${PRESET:?}" "${GROWTH?}"

bench() {
    size=$1
    shift
    "$BENCH_BIN" --preset "$size" --folder "$BENCH_FOLDER" "$@"
}

if [ "$PRESET" = s ]; then
    # Small enough for every push: whether all answers are right, and no judgement of time.
    bench s load
    bench s run --compare --python "$BENCH_PYTHON"
    exit
fi

# The engine alone at other sizes, to see what grows: GROWTH="s 100000000".
for size in $GROWTH; do
    bench "$size" load
    bench "$size" run --only headwater --question page --question count --question full
    bench "$size" memory
done

bench "$PRESET" load
bench "$PRESET" run --python "$BENCH_PYTHON"
bench "$PRESET" cold --python "$BENCH_PYTHON"
bench "$PRESET" memory
"$BENCH_PYTHON" rust/bench/peers/faces.py "$BENCH_FOLDER/$PRESET" >>"$BENCH_FOLDER/$PRESET/results.jsonl"
bench "$PRESET" report --reasons rust/bench/reasons.json --made-by "make bench PRESET=$PRESET GROWTH=\"$GROWTH\""

#!/bin/sh
# Every Rust test that needs no service. What is left out is printed with a count, and why.
set -eu

# Corpus tests are named corpus_*: they read real chain data under HEADWATER_CORPUS.
if [ -n "${HEADWATER_CORPUS:-}" ]; then
    cargo test --workspace --quiet
    left_out=""
else
    count=$(cargo test --workspace --quiet -- --list 2>/dev/null | grep -c 'corpus_.*: test$' || true)
    cargo test --workspace --quiet -- --skip corpus_
    left_out="$count tests on real chain data, because HEADWATER_CORPUS names no folder"
fi

echo
[ -z "$left_out" ] || echo "left out: $left_out"
[ -n "${HEADWATER_FULL:-}" ] || echo "left out: the long runs (200 kills instead of 20, and the like): make test-full"

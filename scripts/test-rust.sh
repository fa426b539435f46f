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

# The ledger on a disk that is really full: on a volume of two megabytes, where one may be mounted.
volume=$(mktemp -d)
full_disk=""
if mount -t tmpfs -o size=2m headwater-test "$volume" 2>/dev/null; then
    HEADWATER_SMALL_VOLUME="$volume" cargo test --workspace --quiet --test faults -- --ignored volume_ || full_disk=failed
    umount "$volume"
else
    full_disk="the ledger on a full volume, because none may be mounted here"
fi
rmdir "$volume"
[ "$full_disk" != failed ] || exit 1

echo
[ -z "$full_disk" ] || echo "left out: $full_disk"
[ -z "$left_out" ] || echo "left out: $left_out"
[ -n "${HEADWATER_FULL:-}" ] || echo "left out: the long runs (200 kills instead of 20, and the like): make test-full"

#!/bin/sh
# Every Rust test that needs no service, with the figures that tests print: a line for each binary, a dot for each test.
# What is left out is printed with a count, and why.
set -eu

# Built first, so that what takes long is seen. Examples are left to the lints.
cargo test --workspace --lib --tests --no-run
tests=$(cargo test --workspace --lib --tests --quiet -- --list 2>/dev/null)

# Tests whose names begin so need something that not every machine has, or time.
skip=""
left_out=""
leave_out() {
    count=$(echo "$tests" | grep -c "$1.*: test\$" || true)
    skip="$skip --skip $1"
    left_out="${left_out}left out: $count tests $2
"
}
[ -n "${HEADWATER_CORPUS:-}" ] || leave_out corpus_ "on real chain data, because HEADWATER_CORPUS names no folder"
[ -n "${HEADWATER_BENCH_PYTHON:-}" ] ||
    leave_out python_peers_ "of the peers in Python, because HEADWATER_BENCH_PYTHON names none: make bench"

command -v redis-server >/dev/null ||
    leave_out redis_ "of limits that gateways share, because redis-server is not installed: apt install redis-server"
if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
    leave_out postgres_ "of a state in PostgreSQL, because it is not installed: apt install postgresql"
fi
command -v "${CC:-cc}" >/dev/null ||
    leave_out shim_ "of disks and clocks that fail under a server, because there is no C compiler: apt install gcc"
[ -n "${HEADWATER_FULL:-}" ] || leave_out full_run_ "that take long and of which other tests show the same in short: make test-full"

# Most tests of the server wait for something: twice as many at a time as there are processors keep them busy.
threads=$((2 * $(nproc 2>/dev/null || echo 2)))
# shellcheck disable=SC2086
cargo test --workspace --lib --tests -- --quiet --show-output --test-threads "$threads" $skip
cargo test --workspace --doc -- --quiet

# The ledger on a disk that is really full: on a volume of two megabytes, where one may be mounted.
volume=$(mktemp -d)
full_disk=""
if mount -t tmpfs -o size=2m headwater-test "$volume" 2>/dev/null; then
    HEADWATER_SMALL_VOLUME="$volume" cargo test --workspace --test ledger -- --quiet --show-output --ignored volume_ || full_disk=failed
    umount "$volume"
else
    full_disk="the ledger on a full volume, because none may be mounted here"
fi
rmdir "$volume"
[ "$full_disk" != failed ] || exit 1

echo
[ -z "$full_disk" ] || echo "left out: $full_disk"
printf '%s' "$left_out"
echo "left out: the measurement of a hub of a million: cargo test -p headwater-engine trace_hub -- --ignored --nocapture"
echo "left out: the measurement of five million holders: cargo test -p headwater-engine holders_at_scale -- --ignored --nocapture"
echo "left out: the time that counting memory takes: cargo test -p headwater-engine memory -- --ignored --nocapture"
[ -n "${HEADWATER_FULL:-}" ] || echo "left out: the long runs (200 kills instead of 20, 10000 flipped bits instead of 100, and the like): make test-full"

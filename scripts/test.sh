#!/bin/sh
# Runs parts of the tests one after the other, and prints at the end one line for each with what it left out, and why.
# Stops at the first part that fails.
# $1: the command that runs a part (make); the others: the names of the parts.
set -eu
run=$1
shift

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
trap 'exit 130' INT

# How much a part ran, by the last lines of its tools.
ran() {
    case $1 in
    rust) sed -n 's/^test result: .* \([0-9]*\) passed;.*/\1/p' "$kept/output" | awk '{ sum += $1 } END { print sum + 0, "tests" }' ;;
    python) sed -n 's/^\([0-9]*\) passed.*/\1/p' "$kept/output" | awk '{ sum += $1 } END { print sum + 0, "tests" }' ;;
    notebooks) echo "$(grep -c '^notebooks/.* cells in ' "$kept/output") notebooks" ;;
    schemathesis) sed -n 's/^ *\([0-9]*\) generated.*/\1 cases/p' "$kept/output" ;;
    esac
}

status=0
for part in "$@"; do
    echo "== $part"
    started=$(date +%s)
    # The status of a pipeline is that of its last command.
    { $run "test-$part" 2>&1 || echo failed >"$kept/failed"; } | tee "$kept/output"
    if [ -e "$kept/failed" ]; then status=1 outcome=FAILED; else outcome=$(ran "$part"); fi
    outcome=${outcome:-passed}
    {
        echo "$part: $outcome, $(($(date +%s) - started)) s"
        sed -n -e 's/^left out: /  left out: /p' -e 's/^SKIPPED \[\([0-9]*\)\] /  left out: \1 of /p' "$kept/output"
    } >>"$kept/summary"
    [ "$status" = 0 ] || break
done

echo
cat "$kept/summary"
exit "$status"

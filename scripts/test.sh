#!/bin/sh
# Runs the parts of the tests and prints at the end one line for each: what it ran, how long it took beside its budget in
# tests/budgets.toml, and what it left out, and why.
#
# Everything is built first, and the Python environments are installed beside it. Then the parts run in two lanes beside each other, since many
# tests wait for something. A line of a part begins with its name.
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
    rust) sed -n 's/^test result: .* \([0-9]*\) passed;.*/\1/p' "$kept/rust" | awk '{ sum += $1 } END { print sum + 0, "tests" }' ;;
    python) sed -n 's/^\([0-9]*\) passed.*/\1/p' "$kept/python" | awk '{ sum += $1 } END { print sum + 0, "tests" }' ;;
    notebooks) echo "$(grep -c '^notebooks/.* cells in ' "$kept/notebooks") notebooks" ;;
    sail) sed -n 's/^\([0-9]*\) passed.*/\1/p' "$kept/sail" | awk '{ sum += $1 } END { print sum + 0, "tests" }' ;;
    schemathesis) sed -n 's/^ *\([0-9]*\) generated.*/\1 cases/p' "$kept/schemathesis" ;;
    esac
}

# The name of a part in tests/budgets.toml.
named() {
    case $1 in
    rust | python) echo "test-$1" ;;
    *) echo "$1" ;;
    esac
}

# Runs a part; the next one of its lane runs only where it succeeds.
part() {
    echo "== $1"
    # The status of a pipeline is that of its last command.
    { sh scripts/timed.sh "$(named "$1")" $run BUILT=1 "test-$1" 2>&1 || touch "$kept/$1.failed"; } | tee "$kept/$1" | sed -u "s/^/$1: /"
    if [ -e "$kept/$1.failed" ]; then outcome=FAILED; else outcome=$(ran "$1"); fi
    {
        echo "$1: ${outcome:-passed}; $(sed -n -e 's/^time: [a-z-]* took //p' -e 's/^warning: [a-z-]* took /took /p' "$kept/$1" | tail -n 1)"
        sed -n -e 's/^left out: /  left out: /p' -e 's/^SKIPPED \[\([0-9]*\)\] /  left out: \1 of /p' "$kept/$1"
    } >"$kept/$1.summary"
    [ ! -e "$kept/$1.failed" ]
}

# Runs parts one after the other, up to the first that fails.
lane() {
    for one in "$@"; do part "$one" || return 0; done
}

$run environments &
environments=$!
sh scripts/timed.sh build $run build
wait "$environments"

# Two lanes of about the same length.
first=""
second=""
for one in "$@"; do
    case $one in
    rust | schemathesis) first="$first $one" ;;
    *) second="$second $one" ;;
    esac
done
# shellcheck disable=SC2086
{
    lane $second &
    lane $first
    wait
}

echo
status=0
for one in "$@"; do
    if [ -e "$kept/$one.summary" ]; then cat "$kept/$one.summary"; else echo "$one: did not run, since a part before it failed"; fi
    if [ -e "$kept/$one.failed" ] || [ ! -e "$kept/$one.summary" ]; then status=1; fi
done
exit "$status"

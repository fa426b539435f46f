#!/bin/sh
# Runs one part of the loop and prints how long it took, beside its budget in tests/budgets.toml. A part that took more
# than twice its budget is a warning, so that growth is seen when it happens.
# $1: the name of the part; the others: the command.
set -eu
part=$1
shift

started=$(date +%s)
status=0
"$@" || status=$?
took=$(($(date +%s) - started))

budget=$(sed -n "s/^$part = \([0-9]*\).*/\1/p" tests/budgets.toml)
if [ -z "$budget" ]; then
    echo "warning: tests/budgets.toml has no budget for $part, which took $took s" >&2
elif [ "$took" -gt $((2 * budget)) ]; then
    echo "warning: $part took $took s, more than twice its budget of $budget s (tests/budgets.toml)"
else
    echo "time: $part took $took s, budget $budget s"
fi
exit "$status"

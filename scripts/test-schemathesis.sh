#!/bin/sh
# Serves a small store, holds the examples of its description against their schemas, and lets Schemathesis try every
# described operation, in all its phases and with all its checks.
# Small: 20 examples for each operation, the same ones each time; with HEADWATER_FULL: 1,000, other ones each time.
set -eu
tools=$1
headwater=$2
examples=${HEADWATER_EXAMPLES:-20}
seed=${HEADWATER_SEED:-1}
if [ -n "${HEADWATER_FULL:-}" ]; then
    examples=${HEADWATER_EXAMPLES:-1000}
    seed=${HEADWATER_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
fi

place=$(mktemp -d)
# What it keeps of a run goes with the run.
export HYPOTHESIS_STORAGE_DIRECTORY="$place/hypothesis"
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi; rm -rf "$place"' EXIT
trap 'exit 130' INT

"$headwater" simulate --store "$place/store" --preset demo --json > "$place/economy.json"
"$headwater" keys create --store "$place/store" --name schemathesis --credits 1000000000000 --json > "$place/key.json"
key=$("$tools/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["key"])' "$place/key.json")
port=$("$tools/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$headwater" serve --store "$place/store" --listen "127.0.0.1:$port" --set limits.enabled=false \
    --set server.admin_listen=none > "$place/server.log" 2>&1 &
server=$!

tries=0
until "$tools/bin/python" -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/readyz', timeout=5)" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -le 60 ] || { echo "the server does not answer; its last words:"; tail -20 "$place/server.log"; exit 1; }
    sleep 1
done
"$tools/bin/python" scripts/schemathesis_values.py "$headwater" "$place/store" "$place/economy.json" > "$place/schemathesis.toml"
# From a file, since Schemathesis leaves out the operation that it reads a description from.
"$tools/bin/python" -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
    "http://127.0.0.1:$port/api-docs/openapi.json" "$place/openapi.json"
"$tools/bin/python" scripts/openapi_examples.py "$place/openapi.json"

# Python 3.11 before 3.11.8 fails now and then where two threads parse at a time (CPython issue 106905).
workers=$("$tools/bin/python" -c 'import sys; print(1 if (3, 11) <= sys.version_info[:3] < (3, 11, 8) else 2)')

echo "schemathesis: $examples examples for each operation, seed $seed"
status=0
PYTHONPATH=scripts SCHEMATHESIS_HOOKS=schemathesis_hooks "$tools/bin/schemathesis" --config-file "$place/schemathesis.toml" run "$place/openapi.json" \
    --url "http://127.0.0.1:$port" --header "X-API-Key: $key" --phases examples,coverage,fuzzing,stateful --checks all \
    --max-examples "$examples" --seed "$seed" --workers "$workers" --request-timeout 90 || status=$?
kill -0 "$server" 2>/dev/null || { echo "the server did not survive; its last words:"; tail -20 "$place/server.log"; exit 1; }
if grep -qi "panicked" "$place/server.log"; then
    echo "the server panicked:"; grep -i -A5 "panicked" "$place/server.log"; exit 1
fi
exit "$status"

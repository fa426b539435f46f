#!/bin/sh
# Builds headwater, announcing how long the first build takes, and runs its demo.
set -eu
: "${HEADWATER_BIN:?}" "${HEADWATER_DEMO:?}"

# The duration of a full build is kept, to announce the next one.
took="$(dirname "$HEADWATER_DEMO")/build-seconds"
if [ -x "$HEADWATER_BIN" ]; then
    echo "Building headwater: what changed since the last build."
    cargo build --workspace --bin headwater
else
    crates=$(cargo tree --package headwater-server --edges normal,build --prefix none --no-dedupe 2>/dev/null | sort -u | wc -l)
    if [ -f "$took" ]; then
        before="$(($(cat "$took") / 60)) min $(($(cat "$took") % 60)) s the last time on this machine"
    else
        before="about 6 minutes on two cores"
    fi
    echo "Building headwater and the $crates crates it needs, once: $before."
    started=$(date +%s)
    cargo build --workspace --bin headwater
    mkdir -p "$(dirname "$took")"
    echo "$(($(date +%s) - started))" > "$took"
fi
exec "$HEADWATER_BIN" demo --store "$HEADWATER_DEMO" --listen "${HEADWATER_LISTEN:-127.0.0.1:8080}"

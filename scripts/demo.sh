#!/bin/sh
# Builds headwater, loads the demo economy once, makes a key, prints what to try, and serves until Ctrl-C.
set -eu
: "${HEADWATER_BIN:?}" "${HEADWATER_DEMO:?}"
listen=${HEADWATER_LISTEN:-127.0.0.1:8080}

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

# A store that an older version wrote may not be readable.
if [ ! -f "$HEADWATER_DEMO.json" ] || ! "$HEADWATER_BIN" stats --store "$HEADWATER_DEMO" >/dev/null 2>&1; then
    echo "Loading the demo economy into $HEADWATER_DEMO."
    rm -rf "$HEADWATER_DEMO" "$HEADWATER_DEMO.state"
    mkdir -p "$(dirname "$HEADWATER_DEMO")"
    "$HEADWATER_BIN" simulate --store "$HEADWATER_DEMO" --preset demo --truth "$HEADWATER_DEMO.truth" --json > "$HEADWATER_DEMO.part"
    mv "$HEADWATER_DEMO.part" "$HEADWATER_DEMO.json"
fi

"$HEADWATER_BIN" keys create --store "$HEADWATER_DEMO" --name demo --credits 100000 --json > "$HEADWATER_DEMO.key"
python3 scripts/demo.py "$HEADWATER_BIN" "$HEADWATER_DEMO" "$listen"
exec "$HEADWATER_BIN" serve --store "$HEADWATER_DEMO" --listen "$listen"

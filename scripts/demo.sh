#!/bin/sh
# Loads the demo economy once, makes a key, prints what to try, and serves until Ctrl-C.
set -eu
: "${HEADWATER_BIN:?}" "${HEADWATER_DEMO:?}"
listen=${HEADWATER_LISTEN:-127.0.0.1:8080}

if [ ! -f "$HEADWATER_DEMO.json" ] || [ ! -d "$HEADWATER_DEMO" ]; then
    rm -rf "$HEADWATER_DEMO" "$HEADWATER_DEMO.state"
    mkdir -p "$(dirname "$HEADWATER_DEMO")"
    "$HEADWATER_BIN" simulate --store "$HEADWATER_DEMO" --preset demo --truth "$HEADWATER_DEMO.truth" --json > "$HEADWATER_DEMO.part"
    mv "$HEADWATER_DEMO.part" "$HEADWATER_DEMO.json"
fi

"$HEADWATER_BIN" keys create --store "$HEADWATER_DEMO" --name demo --credits 100000 --json > "$HEADWATER_DEMO.key"
python3 scripts/demo.py "$HEADWATER_BIN" "$HEADWATER_DEMO" "$listen"
exec "$HEADWATER_BIN" serve --store "$HEADWATER_DEMO" --listen "$listen"

#!/bin/sh
# Renders /docs in Chromium with every outside host blocked: all operations must show, and the page must ask nobody else.
set -eu
headwater=$1
python=${2:-python3}

. scripts/chromium.sh
need_chromium "/docs in a browser"

place=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi; rm -rf "$place"' EXIT
trap 'exit 130' INT

"$headwater" simulate --store "$place/store" --preset demo --json > "$place/economy.json"
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$headwater" serve --store "$place/store" --listen "127.0.0.1:$port" --set server.admin_listen=none > "$place/server.log" 2>&1 &
server=$!
"$python" scripts/docs_page.py "$browser" "http://127.0.0.1:$port" "$place"

#!/bin/sh
# Opens pictures of traces of the demo economy in Chromium with every other host blocked: no errors, no requests, fluid
# motion with 1,000 addresses, use by keyboard, and hostile names that stay text.
# $1: the program; $2: Python.
set -eu
headwater=$1
python=${2:-python3}

. scripts/chromium.sh
need_chromium "pictures in a browser"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT

fetch_axe "$place"
"$headwater" simulate --store "$place/store" --preset demo --json >"$place/economy.json"
"$python" scripts/pictures_page.py "$headwater" "$place"

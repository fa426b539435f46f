#!/bin/sh
# Opens pictures of traces of the demo economy in Chromium with every other host blocked: no errors, no requests, fluid
# motion with 1,000 addresses, use by keyboard, and hostile names that stay text.
# $1: the program; $2: Python.
set -eu
headwater=$1
python=${2:-python3}

if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || true
fi
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
    echo "left out: pictures in a browser, because there is no chromium: apt-get install chromium"
    exit 0
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT

# Rules for people who use screen readers; a file of the registry, as npm is not needed for it.
version=4.10.3
if command -v npm >/dev/null && (cd "$place" && npm pack --silent "axe-core@$version" >/dev/null 2>&1); then
    tar -xzf "$place/axe-core-$version.tgz" -C "$place" package/axe.min.js && mv "$place/package/axe.min.js" "$place/axe.js"
else
    echo "left out: the rules of axe-core, because npm cannot fetch it"
fi

"$headwater" simulate --store "$place/store" --preset demo --json >"$place/economy.json"
"$python" scripts/pictures_page.py "$headwater" "$place"

#!/bin/sh
# Follows the theft of the demo economy on the page /explore in Chromium with every other host blocked: by mouse, by keys
# alone, with a key and its credits, with hostile texts, and with 1,000 addresses.
# $1: the program; $2: an environment of Python; $3: the folder of the wheel, whose package runs the calls of the page.
set -eu
headwater=$1
trial=$2
wheels=$3

. scripts/chromium.sh
need_chromium "/explore in a browser"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT

fetch_axe "$place"
"$trial/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/headwater-*.whl
"$trial/bin/python" scripts/explore_page.py "$headwater" "$place"

#!/bin/sh
# Loads from anvil and bcoin, which come from npm: against files of the same blocks, balances of the nodes, kills and outages.
# $1: the program; $2: an environment of Python; $3: the folder of packages.
set -eu
headwater=$1
trial=$2
packages=$3

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "left out: loads from nodes, because there is no npm: apt-get install nodejs npm"
    exit 0
fi
if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "left out: loads from nodes, because anvil is taken for Linux on x86_64 alone"
    exit 0
fi

# bcoin runs without its native parts, which scripts of its packages would compile.
mkdir -p "$packages"
if ! cmp -s scripts/nodes/package.json "$packages/package.json"; then
    echo "nodes: installing anvil, bcoin, ethers and solc into $packages"
    rm -rf "$packages/package.json" "$packages/package-lock.json" "$packages/node_modules"
    cp scripts/nodes/package.json "$packages/new.json"
    mv "$packages/new.json" "$packages/package.json"
    if ! (cd "$packages" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null); then
        rm "$packages/package.json"
        echo "left out: loads from nodes, because npm cannot install their packages"
        exit 0
    fi
fi
cryo=$packages/cryo/bin/python
if ! cmp -s scripts/requirements-nodes.txt "$packages/cryo/requirements.txt"; then
    if "$trial/bin/python" -m venv "$packages/cryo" &&
        "$cryo" -m pip install --quiet --disable-pip-version-check --requirement scripts/requirements-nodes.txt; then
        cp scripts/requirements-nodes.txt "$packages/cryo/requirements.txt"
    else
        echo "left out: blocks per second beside cryo, because pip cannot install it"
        cryo=none
    fi
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT
# anvil keeps states below the home folder, and a killed one leaves them there.
HOME=$place "$trial/bin/python" scripts/nodes_check.py "$headwater" "$place" "$packages" "$cryo"

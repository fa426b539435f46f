#!/bin/sh
# Generates clients from the description that a server of the demo store gives, compiles them as they come, and runs with
# each the example of docs/write-a-client.md and a program that makes calls of every kind.
# $1: the program; $2: the environment of Python with the generators, beside which other packages are installed.
set -eu
headwater=$1
tools=$(cd "$2" && pwd)
page=docs/write-a-client.md

# The page installs the versions that are tried here.
"$tools/bin/python" - "$page" <<'END'
import json, re, sys
from pathlib import Path

page = Path(sys.argv[1]).read_text()
packages = json.loads(Path("scripts/clients/package.json").read_text())
pins = [f"{name}@{version}" for kind in ("dependencies", "devDependencies") for name, version in packages[kind].items()]
pins += re.findall(r"^openapi[^;\n]*==[^;\n]*", Path("scripts/requirements-clients.txt").read_text(), re.MULTILINE)
missing = [pin for pin in pins if pin not in page]
sys.exit(f"{sys.argv[1]} does not install {', '.join(missing)}" if missing else 0)
END

place=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi; rm -rf "$place"' EXIT
trap 'exit 130' INT

"$headwater" simulate --store "$place/store" --preset demo --json >/dev/null
KEY=$("$headwater" keys create --store "$place/store" --name clients --credits 1000000 --json |
    "$tools/bin/python" -c 'import json, sys; print(json.load(sys.stdin)["key"])')
port=$("$tools/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
URL=http://127.0.0.1:$port
export KEY URL
"$headwater" serve --store "$place/store" --listen "127.0.0.1:$port" --set server.admin_listen=none >"$place/server.log" 2>&1 &
server=$!
tries=0
until "$tools/bin/python" -c "import urllib.request; urllib.request.urlopen('$URL/readyz', timeout=5)" 2>/dev/null; do
    tries=$((tries + 1))
    [ "$tries" -le 60 ] || { echo "the server does not answer; its last words:"; tail -20 "$place/server.log"; exit 1; }
    sleep 1
done
"$tools/bin/python" -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
    "$URL/api-docs/openapi.json" "$place/openapi.json"

# Writes the example of a generator, a block of the page, to a file.
example() {
    awk -v head="^\`\`\`[a-z]+ $1\$" '$0 ~ head { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >"$2"
    [ -s "$2" ] || { echo "$page has no example of $1"; exit 1; }
}

# Runs a generator, and fails where it fails or a line of its output is a warning.
# $1: the pattern of warnings; $2: the pattern of those that are not about the description; the others: the command.
silently() {
    warning=$1
    allowed=$2
    shift 2
    "$@" >"$place/output" 2>&1 || { cat "$place/output"; exit 1; }
    if grep -E "$warning" "$place/output" | grep -vE "$allowed"; then
        echo "the generator warns of the description: $*"
        exit 1
    fi
}

# Compiles and runs the TypeScript of a folder: the example, and the program that makes calls of every kind.
typescript() {
    folder=$place/$1
    example "$1" "$folder/example.ts"
    cp "scripts/clients/$2" "$folder/calls.ts"
    ln -s "$tools/npm/node_modules" "$folder/node_modules"
    echo '{"type": "module"}' >"$folder/package.json"
    cat >"$folder/tsconfig.json" <<'END'
{"compilerOptions": {"strict": true, "target": "es2022", "module": "nodenext", "lib": ["es2022", "dom", "dom.iterable"], "types": ["node"]}}
END
    "$folder/node_modules/.bin/tsc" --project "$folder"
    node "$folder/example.js"
    node "$folder/calls.js"
}

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "left out: clients of openapi-fetch and typescript-fetch, because npm is not installed: apt-get install nodejs npm"
elif ! cmp -s scripts/clients/package-lock.json "$tools/npm/installed.json" && ! {
    mkdir -p "$tools/npm" && cp scripts/clients/package.json scripts/clients/package-lock.json "$tools/npm" &&
        (cd "$tools/npm" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null) &&
        cp scripts/clients/package-lock.json "$tools/npm/installed.json"
}; then
    echo "left out: clients of openapi-fetch and typescript-fetch, because npm cannot install their packages"
else
    mkdir "$place/openapi-fetch"
    silently "[Ww]arn|[Ee]rror" "^$" "$tools/npm/node_modules/.bin/openapi-typescript" "$place/openapi.json" \
        --output "$place/openapi-fetch/headwater.d.ts"
    typescript openapi-fetch openapi_fetch.ts

    mkdir "$place/typescript-fetch"
    # The generator says of every description of version 3.1 that its support is in beta, and looks up the name of each choice
    # of a text and a number, which has none.
    silently "] (WARN|ERROR) " "OpenAPI 3.1 support is still in beta|Failed to get the schema name: null" \
        "$tools/bin/openapi-generator-cli" generate -g typescript-fetch -i "$place/openapi.json" \
        -o "$place/typescript-fetch/headwater" --additional-properties importFileExtension=.js
    typescript typescript-fetch typescript_fetch.ts
fi

if [ ! -x "$tools/bin/openapi-python-client" ]; then
    echo "left out: the client of openapi-python-client, which needs Python 3.11 or newer"
else
    mkdir "$place/python"
    silently "[Ww]arn|WARN|[Ss]kip|ERROR|[Uu]nable" "^$" \
        env PATH="$tools/bin:$PATH" "$tools/bin/openapi-python-client" generate --path "$place/openapi.json" --output-path "$place/python/headwater-client"
    example openapi-python-client "$place/python/example.py"
    cp scripts/clients/python_client.py "$place/python/calls.py"
    (
        cd "$place/python"
        export MYPYPATH=headwater-client PYTHONPATH=headwater-client
        "$tools/bin/mypy" --strict --cache-dir "$tools/mypy" headwater-client/headwater_client example.py calls.py
        "$tools/bin/python" example.py
        "$tools/bin/python" calls.py
    )
fi

# The versions that the page names.
generator=$(grep -o 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v[0-9.]*' "$page" | head -n 1)
runtime=$(grep -o 'github.com/oapi-codegen/runtime@v[0-9.]*' "$page" | head -n 1)
if ! command -v go >/dev/null; then
    echo "left out: the client of oapi-codegen, because Go is not installed: install Go 1.25 or newer"
elif ! GOBIN=$tools/go go install "$generator" >"$place/output" 2>&1; then
    echo "left out: the client of oapi-codegen, because its modules cannot be installed: $(tail -n 1 "$place/output")"
else
    mkdir -p "$place/go/headwater" "$place/go/calls"
    silently "[Ww]arn|WARN|[Ss]kip|ERROR" "^$" "$tools/go/oapi-codegen" -generate types,client -package headwater \
        -o "$place/go/headwater/client.go" "$place/openapi.json"
    example oapi-codegen "$place/go/main.go"
    cp scripts/clients/oapi_codegen.go "$place/go/calls/main.go"
    (
        cd "$place/go"
        go mod init example.com/client 2>/dev/null
        go get "$runtime" 2>/dev/null
        go mod tidy 2>/dev/null
        go vet ./...
        go run .
        go run ./calls
    )
fi

# Read by tests that open pages in Chromium: `. scripts/chromium.sh`.

# Finds Chromium, or installs it; ends the test where there is none. $1: what is left out then. Sets `browser`.
need_chromium() {
    if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || true
    fi
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
    if [ -z "$browser" ]; then
        echo "left out: $1, because there is no chromium: apt-get install chromium"
        exit 0
    fi
}

# Fetches axe-core into a folder as axe.js: rules for people who use screen readers. $1: the folder.
fetch_axe() {
    version=4.10.3
    if command -v npm >/dev/null && (cd "$1" && npm pack --silent "axe-core@$version" >/dev/null 2>&1); then
        tar -xzf "$1/axe-core-$version.tgz" -C "$1" package/axe.min.js && mv "$1/package/axe.min.js" "$1/axe.js"
    else
        echo "left out: the rules of axe-core, because npm cannot fetch it"
    fi
}

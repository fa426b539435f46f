#!/bin/sh
# Builds the headwater binary twice, in two folders with two target folders, and compares the bytes.
#
# Small: our own crates, in the profile of the loop, beside the dependencies as the loop has built them. That shows that
# nothing of ours puts a path, a time or an order of chance into the binary. With HEADWATER_FULL: everything anew, twice,
# in the release profile, which shows it of the binary that is shipped, as long as compiler, linker and the folder of
# Cargo's registry are the same.
set -eu

work=$(mktemp -d "${CARGO_TARGET_DIR:?names the folder of the builds}/same-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
if [ -n "${HEADWATER_FULL:-}" ]; then profile=release flag=--release; else profile=debug flag=; fi

# Says to the compiler that all sources lie in one place. Not in RUSTFLAGS: those would differ between the two builds,
# and every dependency with them.
cat > "$work/rustc" <<'END'
#!/bin/sh
exec "$@" --remap-path-prefix "$HEADWATER_SOURCES=/headwater" --remap-path-prefix "$CARGO_TARGET_DIR=/target"
END
chmod +x "$work/rustc"

# Both at once: a file that is edited while the first is built would make a difference.
mkdir -p "$work/one" "$work/second/folder"
git ls-files -z --cached | tar --create --file "$work/sources.tar" --null --files-from -
for folder in "$work/one" "$work/second/folder"; do
    tar --extract --file "$work/sources.tar" --directory "$folder"
done

# $1: the folder of the sources; $2: the target folder.
build() {
    mkdir -p "$2/$profile"
    if [ "$profile" = debug ]; then
        # Links to what is built already, without anything of ours. Cargo writes its notes in place: they are copied.
        for part in deps build .fingerprint; do
            if [ "$part" = .fingerprint ]; then link=; else link=--link; fi
            mkdir "$2/$profile/$part"
            # shellcheck disable=SC2086
            find "$CARGO_TARGET_DIR/$profile/$part" -mindepth 1 -maxdepth 1 ! -name '*headwater*' \
                -exec cp --archive $link --target-directory "$2/$profile/$part" {} +
        done
        wrapper=RUSTC_WORKSPACE_WRAPPER
    else
        wrapper=RUSTC_WRAPPER
    fi
    (
        cd "$1"
        # shellcheck disable=SC2086
        env HEADWATER_SOURCES="$1" CARGO_TARGET_DIR="$2" CARGO_INCREMENTAL=0 "$wrapper=$work/rustc" \
            cargo build --locked --workspace --bin headwater $flag
    )
}

if [ "$profile" = debug ]; then cargo build --locked --workspace --bin headwater; fi
build "$work/one" "$work/target-one"
build "$work/second/folder" "$work/second/target"
one="$work/target-one/$profile/headwater"
other="$work/second/target/$profile/headwater"
if ! cmp "$one" "$other"; then
    echo "the two builds differ in $(cmp -l "$one" "$other" | wc -l) bytes; what only the second one names:" >&2
    strings "$one" > "$work/one.txt" && strings "$other" > "$work/other.txt"
    diff "$work/one.txt" "$work/other.txt" | grep '^>' | head -n 20 >&2
    exit 1
fi
echo "same build: $(wc -c < "$one") bytes, sha256 $(sha256sum < "$one" | cut -d ' ' -f 1), $profile"

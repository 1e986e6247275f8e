#!/bin/sh
# Builds static programs a second time and compares: other directories, another home, another umask,
# time zone and language, sources without their history, Rust's own sources (rustup's rust-src) where they are not installed
# here, and else none. Compiler and C library are this machine's.
#
#    reproducible.sh agent|aggregator|plugin|all dev|release [amd64|arm64]
#
# Takes what cargo has downloaded, and 2 GB below TMPDIR. What tests use (dev) is quicker to build.
set -eu
cd "$(dirname "$0")/.."
home=${CARGO_HOME:-$HOME/.cargo}
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

sh deploy/static.sh "$@" >"$work/here"

mkdir -p "$work/elsewhere/sources" "$work/elsewhere/home" "$work/elsewhere/cargo"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$work/elsewhere/sources"
ln -s "$(realpath "$home/registry")" "$work/elsewhere/cargo/registry"

# The compiler knows by one file whether it has those sources; it finds its libraries as here.
compiler=$(command -v "${RUSTC:-rustc}")
sysroot=$("$compiler" --print sysroot)
mkdir -p "$work/elsewhere/rust/lib/rustlib"
for library in "$sysroot"/lib/rustlib/*/lib; do
	ln -s "${library%/lib}" "$work/elsewhere/rust/lib/rustlib/"
done
known=lib/rustlib/src/rust/library/std/src/lib.rs
if [ ! -f "$sysroot/$known" ]; then
	mkdir -p "$(dirname "$work/elsewhere/rust/$known")"
	touch "$work/elsewhere/rust/$known"
fi
printf '#!/bin/sh\nexec "%s" --sysroot "%s" "$@"\n' "$compiler" "$work/elsewhere/rust" >"$work/elsewhere/rustc"
chmod 755 "$work/elsewhere/rustc"
(
	cd "$work/elsewhere/sources"
	umask 077
	RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} HOME=$work/elsewhere/home CARGO_HOME=$work/elsewhere/cargo \
		TARGET=$work/elsewhere/built RUSTC=$work/elsewhere/rustc TZ=Asia/Tokyo LC_ALL=C \
		sh deploy/static.sh "$@" >"$work/there"
)

paste "$work/here" "$work/there" | while read -r here there; do
	cmp "$here" "$there"
	echo "reproducible: $(basename "$here"), built twice for $2, is $(sha256sum <"$here" | cut -d' ' -f1)"
done

#!/bin/sh
# Builds the image of one program a second time as somebody else would, and compares: other directories, another home,
# another umask, time zone and language, sources without their history, Rust's own sources (rustup's rust-src) where they
# are not installed here, and else none. Compiler and C library are this machine's.
#
#    reproducible.sh [agent|aggregator|plugin]
#
# PROFILE=dev compares what tests use; that is quicker to build. ARCHS=amd64,arm64 compares the archive of both machines.
# Takes what cargo has downloaded, and 2 GB below TMPDIR for each machine.
set -eu
cd "$(dirname "$0")/.."
program=${1:-agent}
profile=${PROFILE:-release}
set -- --program "$program" --profile "$profile" ${ARCHS:+--arch "$ARCHS"}
cargo=${CARGO:-cargo}
home=${CARGO_HOME:-$HOME/.cargo}
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

"$cargo" run -q -p xtask -- image "$@" --output "$work/here.oci.tar"

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
		CARGO_TARGET_DIR=$work/elsewhere/built RUSTC=$work/elsewhere/rustc TZ=Asia/Tokyo LC_ALL=C \
		"$cargo" run -q -p xtask -- image "$@" --output "$work/there.oci.tar"
)

digest() { sha256sum <"$1" | cut -d' ' -f1; }
here=$(digest "$work/here.oci.tar") there=$(digest "$work/there.oci.tar")
[ "$here" = "$there" ] || { echo "the image of the $program is $here here and $there elsewhere" >&2; exit 1; }
echo "reproducible: the image of the $program${ARCHS:+ for $ARCHS}, built twice for $profile, is $here"

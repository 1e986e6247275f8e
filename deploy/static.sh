#!/bin/sh
# Builds static programs and prints their paths: target/static/TRIPLE/debug or release. The same sources give the same bytes in
# any directory (tests/reproducible.sh).
#
#    static.sh agent|aggregator|plugin|all dev|release [amd64|arm64|windows-amd64|…]
set -eu
cd "$(dirname "$0")/.."
. deploy/programs.sh
profile=$2
own=$(triple "$(uname -m)")
triple=$(triple "${3:-$(uname -m)}")
# A directory of its own: cargo rebuilds everything when the flags change.
target=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}")/static

# `cargo run` and `cargo test` set these. Build scripts that read them (ring's) would run again.
# shellcheck disable=SC2046 # names
unset $(env | sed -n 's/^\(CARGO_\(PKG\|MANIFEST\)_[A-Z_]*\)=.*/\1/p')

rustc=${RUSTC:-rustc}
# The directory of rustup's rust-src. Where it is installed, programs name it instead of the commit.
rust=$("$rustc" --print sysroot)/lib/rustlib/src/rust
# A distribution's compiler may have no commit.
commit=$("$rustc" -vV | awk '/^commit-hash:/ && $2 != "unknown" || /^release:/ { print $2; exit }')
RUSTFLAGS="${RUSTFLAGS:-}" build=build exe=
# What macOS has of its own cannot be linked statically.
case $triple in *-apple-*) ;; *) RUSTFLAGS="$RUSTFLAGS -C target-feature=+crt-static" ;; esac
case $triple in
*-windows-*)
	PATH=${ZIGBUILD:-$(sh deploy/zigbuild.sh)}:$PATH build=zigbuild exe=.exe
	export PATH
	;;
esac
# Panics name these directories. The last prefix that matches applies.
for place in "$PWD=/source" "$target=/target" "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$rust=/rustc/$commit"; do
	RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$place"
done
case $profile-$triple in
release-*-linux-*)
	# One bit for a relocation instead of 24 bytes; a linker without this option leaves them as they are.
	RUSTFLAGS="$RUSTFLAGS -C link-arg=-Wl,-z,pack-relative-relocs"
	;;
esac
export RUSTFLAGS
# Symbols would be nine tenths of a test image.
export CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_STRIP=symbols
if [ "$triple" != "$own" ]; then
	export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="${CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER:-aarch64-linux-gnu-gcc}"
	export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER="${CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER:-x86_64-linux-gnu-gcc}"
fi

[ "$profile" = dev ] && built=$target/$triple/debug || built=$target/$triple/$profile
# One at a time: together, each would get the features that the others enable.
for program in $(programs "$1"); do
	name=$(binary "$program")
	# Without --target the flags would apply to procedural macros too, which must be shared libraries.
	"${CARGO:-cargo}" $build -q --locked --profile "$profile" --target "$triple" --target-dir "$target" \
		-p "$(echo "$name" | tr _ -)" --bin "$name"
	! grep -qF "$rust" "$built/$name$exe" || { echo "$built/$name$exe names $rust, a directory of this machine" >&2; exit 1; }
	[ "$profile" != release ] || weigh "$built/$name$exe"
	# A glibc before 2.36 cannot start a static program with packed relocations.
	[ "$triple" != "$own" ] || "$built/$name$exe" --version >/dev/null
	echo "$built/$name$exe"
done

#!/bin/sh
# Writes the two documents of a release program: licenses.txt, the licences of everything linked into it, and its bill of
# materials, sbom.cdx.json (CycloneDX 1.5). Installs cargo-about and cargo-cyclonedx below the target directory.
#
#    notices.sh agent|aggregator|plugin TRIPLE PROGRAM FOLDER
set -eu
cd "$(dirname "$0")/.."
. deploy/programs.sh
triple=$2 program=$3 folder=$4
package=$(binary "$1" | tr _ -)
# Optimised, since it scans many texts; it takes minutes to build. The tests set a stand-in.
about=${ABOUT:-$(sh tests/tool.sh cargo-about 0.9.3 --features cli)}
cyclonedx=$(sh tests/tool.sh cargo-cyclonedx 0.5.9 --debug)
rust=$("${RUSTC:-rustc}" --version | cut -d' ' -f2)
# What is linked beside the crates and the standard library: its name, version, licence and how it is said. Of macOS nothing.
case $triple in
*-linux-*)
	library=glibc licence=LGPL-2.1-or-later
	release=$(grep -aom1 'GNU C Library (.*) stable release version [0-9.]*[0-9]' "$program" | sed 's/.* //')
	[ -n "$release" ] || { echo "no version of glibc is in $program" >&2; exit 1; }
	linked="; and statically with the GNU C Library ($release), under LGPL-2.1-or-later, whose text comes last: with the sources you can
link the program with another version of it"
	# Debian and Ubuntu install both with a C compiler.
	texts="/usr/share/doc/libc6-dev/copyright /usr/share/common-licenses/LGPL-2.1"
	;;
*-windows-*)
	zig=${ZIGBUILD:-$(sh deploy/zigbuild.sh)}
	library=mingw-w64 licence=ZPL-2.1 release="of zig $("$zig/python-zig" version)"
	linked="; and statically with the runtime of mingw-w64 ($release), whose notice comes last"
	texts=$("$zig/python" -c 'import ziglang; print(ziglang.__path__[0])')/lib/libc/mingw/COPYING
	;;
*) library='' licence='' release='' linked='' texts=/dev/null ;;
esac

# A copy, because cargo-cyclonedx writes a file into every crate of the workspace.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
tar -c --exclude-vcs --exclude=target . | tar -x -C "$work"
crate=$(dirname "$(grep -rlx --include=Cargo.toml "name = \"$package\"" "$work")")

SOURCE_DATE_EPOCH=0 "$cyclonedx" cyclonedx -q --manifest-path "$crate/Cargo.toml" --format json --spec-version 1.5 \
	--no-build-deps --target "$triple" --override-filename sbom.cdx
# The standard library and the C library are not crates.
sed "s|$work|/source|g" "$crate/sbom.cdx.json" | jq -c --arg rust "$rust" --arg library "$library" --arg release "$release" --arg licence "$licence" '.components += [
	{type: "library", "bom-ref": "std", name: "std", version: $rust, licenses: [{expression: "MIT OR Apache-2.0"}]},
	if $library == "" then empty else
		{type: "library", "bom-ref": $library, name: $library, version: $release, licenses: [{license: {id: $licence}}]}
	end
]' >"$folder/sbom.cdx.json"

{
	cat <<-TEXT
	$package is under Apache-2.0; its text comes first. It is linked with Rust's standard library
	($rust, MIT OR Apache-2.0, taken under the latter) and with the crates below, each under its own
	licence$linked.

	TEXT
	cat LICENSE
	"$about" generate --frozen --fail --config deploy/about.toml --target "$triple" --manifest-path "$crate/Cargo.toml" \
		deploy/about.hbs
	# shellcheck disable=SC2086 # paths
	cat $texts
} >"$folder/licenses.txt"

#!/bin/sh
# Prints the path of a cargo tool, after installing it below the target directory if it is missing.
#
#    tool.sh NAME VERSION [FLAG OF CARGO INSTALL...]
set -eu
cd "$(dirname "$0")/.."
tools=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}/tools")
name=$1 version=$2
shift 2
if ! grep -q "\"$name $version " "$tools/.crates2.json" 2>/dev/null; then
	echo "installing: $name $version" >&2
	"${CARGO:-cargo}" install -q --locked --root "$tools" --version "$version" "$@" "$name" >&2
fi
echo "$tools/bin/$name"

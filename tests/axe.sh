#!/bin/sh
# Prints the path of axe-core, the accessibility checker, after fetching it below the target directory if it is missing.
set -eu
cd "$(dirname "$0")/.."
version=4.14.1
sum=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
dir=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}/tools")/axe-core-$version
if [ ! -f "$dir/axe.min.js" ]; then
	echo "fetching: axe-core $version" >&2
	fresh=$(mktemp -d)
	trap 'rm -rf "$fresh"' EXIT
	npm pack --silent --pack-destination "$fresh" "axe-core@$version" >&2
	echo "$sum  $fresh/axe-core-$version.tgz" | sha256sum --check --quiet >&2
	tar -xzf "$fresh/axe-core-$version.tgz" -C "$fresh" package/axe.min.js package/LICENSE
	mkdir -p "$(dirname "$dir")"
	mv "$fresh/package" "$dir" 2>/dev/null || [ -f "$dir/axe.min.js" ]
fi
echo "$dir/axe.min.js"

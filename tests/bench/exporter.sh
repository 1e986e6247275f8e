#!/bin/sh
# Prints the path of prometheus-node-exporter. Where it is missing, its package is unpacked into the
# target directory and not installed: installed it would start a service.
set -eu
cd "$(dirname "$0")/../.."
dir=${TARGET:-${CARGO_TARGET_DIR:-target}}/bench-exporter
name=prometheus-node-exporter

if found=$(command -v "$name"); then
	echo "$found"
	exit
fi
if [ ! -x "$dir/usr/bin/$name" ]; then
	echo "unpacking: $name" >&2
	mkdir -p "$dir"
	apt-get update -q >/dev/null
	(cd "$dir" && apt-get download -q "$name" >/dev/null && dpkg -x "$name"_*.deb . && rm "$name"_*.deb)
fi
echo "$dir/usr/bin/$name"

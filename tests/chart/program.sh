#!/bin/sh
# Prints where the program of one of Debian's packages is; the package is unpacked, nothing is installed.
#
#    program.sh PACKAGE PROGRAM
set -eu
cd "$(dirname "$0")/../.."
tools=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}/tools/$1")
found=$(command -v "$2" || echo "$tools/usr/bin/$2")
if [ ! -x "$found" ]; then
	mkdir -p "$tools"
	(cd "$tools" && apt-get update -q >/dev/null && apt-get -q download "$1" >/dev/null && dpkg -x "$1"_*.deb .)
fi
echo "$found"

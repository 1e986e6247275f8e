#!/bin/sh
# Checks deploy/chart with Helm's own engine, the dashboard with Grafana's own types, and the alert rules.
set -eu
cd "$(dirname "$0")/../.."
python=$(sh tests/chart/python.sh)
"$python" tests/chart/chart.py "$@"
[ $# -gt 0 ] || sh tests/chart/alerts.sh "$python"

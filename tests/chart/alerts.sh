#!/bin/sh
# Tests the alert rules and the scrape configurations with promtool, and what silences what with Alertmanager.
#
#    alerts.sh PYTHON
set -eu
cd "$(dirname "$0")/../.."
python=${1:-python3}
promtool=$(sh tests/chart/program.sh prometheus promtool)
alertmanager=$(sh tests/chart/program.sh prometheus-alertmanager prometheus-alertmanager)
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
cp deploy/chart/files/alerts.yaml "$cases/alerts.rules.yaml"
cp tests/chart/alerts.yaml "$cases/alerts.yaml"
"$promtool" check rules "$cases/alerts.rules.yaml"
"$promtool" test rules "$cases/alerts.yaml"
"$python" tests/chart/recorded_alerts.py "$cases/recorded.yaml"
"$promtool" test rules "$cases/recorded.yaml"
"$python" tests/chart/scraped.py "$promtool"
"$python" tests/chart/alertmanager.py "$alertmanager"

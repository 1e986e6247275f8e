#!/bin/sh
# Checks deploy/chart with Helm's own engine, the dashboard with Grafana's own types, the kustomizations and all that is
# applied with kubectl and the fake API server, the alert rules and the scrape configurations.
set -eu
cd "$(dirname "$0")/../.."
target=${TARGET:-${CARGO_TARGET_DIR:-target}}
python=$(sh tests/chart/python.sh)
"$python" tests/chart/chart.py "$@"
[ $# -eq 0 ] || exit 0
sh tests/kubectl.sh
[ -x "$target/debug/apiserver" ] || "${CARGO:-cargo}" build -q -p apiserver
"$python" tests/chart/kustomized.py "$target/tools/kubectl"
"$python" tests/chart/applied.py "$target/tools/kubectl" "$target/debug/apiserver"
"$python" tests/chart/released.py "$target/tools/kubectl" "$target/debug/apiserver"
sh tests/chart/alerts.sh "$python"

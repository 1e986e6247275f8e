#!/bin/sh
# Tests the alert rules with promtool, which Debian's package prometheus has; it is unpacked, nothing is started.
set -eu
cd "$(dirname "$0")/../.."
tools=${TARGET:-${CARGO_TARGET_DIR:-target}}/tools
promtool=$(command -v promtool || echo "$tools/prometheus/usr/bin/promtool")
if [ ! -x "$promtool" ]; then
	mkdir -p "$tools/prometheus"
	(cd "$tools/prometheus" && apt-get update -q >/dev/null && apt-get -q download prometheus && dpkg -x prometheus_*.deb .)
fi
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT
cp deploy/chart/files/alerts.yaml "$cases/alerts.rules.yaml"
cp tests/chart/alerts.yaml "$cases/alerts.yaml"
"$promtool" check rules "$cases/alerts.rules.yaml"
"$promtool" test rules "$cases/alerts.yaml"

#!/bin/sh
# Measures on a crowded node of the lab, and cleans up whatever happens.
set -eu
cd "$(dirname "$0")/../.."
bench=${TARGET:-${CARGO_TARGET_DIR:-target}}/release/bench

trap '"$bench" clean' EXIT
# The shell outlives Ctrl-C, so that the trap runs.
trap : INT TERM HUP
"$bench" "$@"

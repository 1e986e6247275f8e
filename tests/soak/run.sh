#!/bin/sh
# Soaks the agent on a node of the lab, and cleans up whatever happens. `tests/soak/run.sh --agent FILE [--minutes N]`
set -eu
cd "$(dirname "$0")/../.."
target=${TARGET:-${CARGO_TARGET_DIR:-target}}/debug

trap 'status=$?; "$target/lab" down --all || status=1; exit $status' EXIT
# The shell outlives Ctrl-C, so that the trap runs.
trap : INT TERM HUP
"$target/soak" "$@"

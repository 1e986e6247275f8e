#!/bin/sh
# Builds the static programs for arm64 and runs each under qemu-user: of the same saved observations, recordings
# and cluster it must say what this machine's own says, to the byte. What looks at a node is not compared: qemu shows the
# processes of this machine, and knows neither seccomp nor listmount.
#
# PROFILE=release runs the optimised programs that a release has; otherwise they are quicker to build.
# Needs Rust's library and a linker for aarch64, and qemu-aarch64-static (Debian: qemu-user-static), or QEMU.
set -eu
cd "$(dirname "$0")/.."
target=${TARGET:-${CARGO_TARGET_DIR:-target}}
own=$target/debug
profile=${PROFILE:-dev}
case $profile in dev) built=debug ;; *) built=$profile ;; esac
other=$target/static/aarch64-unknown-linux-gnu/$built
qemu=${QEMU:-qemu-aarch64-static}
"$qemu" --version >/dev/null || { echo "there is no $qemu (Debian: qemu-user-static)" >&2; exit 1; }

sh deploy/static.sh all "$profile" arm64

work=$(mktemp -d)
running=
trap 'kill $running 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

. tests/until_there.sh

# What both say, and how they end; a recording is always looked at as of its own time.
same() { # program, argument...
	program=$1
	shift
	status=0
	"$own/$program" "$@" >"$work/own" 2>&1 || status=$?
	# 2 says that something is stuck.
	case $status in 0 | 2) ;; *) cat "$work/own" >&2; echo "$program $* fails" >&2; exit 1 ;; esac
	echo "exit status $status" >>"$work/own"
	status=0
	"$qemu" "$other/$program" "$@" >"$work/other" 2>&1 || status=$?
	echo "exit status $status" >>"$work/other"
	diff -u "$work/own" "$work/other" || { echo "$program $*: another answer on arm64" >&2; exit 1; }
}

for program in why-terminating-agent why-terminating-aggregator kubectl-why_terminating; do
	same $program --version
	same $program --help
done
echo "arm64: each program starts"

count=0
for observation in tests/adversary/*.json; do
	same why-terminating-agent judge "$observation" -o wide
	same why-terminating-agent judge "$observation" -o json
	count=$((count + 1))
done
echo "arm64: the agent judges $count saved observations as here"

count=0
for index in tests/recordings/*/index.json; do
	recording=$(basename "$(dirname "$index")")
	"$own/apiserver" --recording "$recording" --kubeconfig "$work/$recording" >/dev/null &
	running=$!
	until_there "$work/$recording"
	for form in tree json table; do
		KUBECONFIG=$work/$recording same kubectl-why_terminating -A -o $form
	done
	KUBECONFIG=$work/$recording same kubectl-why_terminating version
	kill $running
	count=$((count + 1))
done
echo "arm64: the plugin explains $count recorded clusters as here"

# The service, each beside the same API server; times differ, and what is stuck and why does not.
"$own/apiserver" --recording volumes-busy --kubeconfig "$work/kubeconfig" >/dev/null &
running=$!
until_there "$work/kubeconfig"
for as in own other; do
	case $as in own) emulator= ;; other) emulator=$qemu ;; esac
	case $as in own) directory=$own ;; other) directory=$other ;; esac
	# shellcheck disable=SC2086 # none, or one
	RUST_LOG=service=info $emulator "$directory/why-terminating-aggregator" serve --no-events \
		--listen 127.0.0.1:0 --kubeconfig "$work/kubeconfig" 2>"$work/log" &
	serving=$!
	running="$running $serving"
	tries=0
	until address=$(sed -n 's/.*listening.*address=\([0-9.:]*\).*/\1/p' "$work/log" | grep .) &&
		curl -sfk -o /dev/null "https://$address/readyz"; do
		tries=$((tries + 1))
		[ $tries -lt 60 ] || { cat "$work/log" >&2; exit 1; }
		sleep 1
	done
	curl -sfk -H 'Authorization: Bearer admin' "https://$address/api/v1/stuck" >"$work/$as.json"
	kill $serving
done
python3 - "$work/own.json" "$work/other.json" <<'COMPARE'
import json
import sys

def roots(file):
    with open(file) as text:
        found = json.load(text)["roots"]
    victims = lambda root: sorted(json.dumps(victim["thing"], sort_keys=True) for victim in root["victims"])
    return sorted((root["finding"]["cause"], root["finding"]["confidence"], victims(root)) for root in found)

own, other = map(roots, sys.argv[1:])
assert own and own == other, f"the service says something else on arm64:\n{own}\n{other}"
print(f"arm64: the service reports {len(own)} roots as here")
COMPARE

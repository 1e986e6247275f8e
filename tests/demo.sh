#!/bin/sh
# Three stuck pods, the answer, the page, and everything cleaned up again.
set -eu
cd "$(dirname "$0")/.."
export TARGET="${TARGET:-target}"

echo "staging three stuck pods on a private containerd …"
trap '"$TARGET/debug/lab" down --all' INT TERM
# 2 is the answer "something is stuck".
"$TARGET/debug/lab" with dstate-fuse cwd vol-data-empty --run '
	echo
	echo "\$ sudo why-terminating-agent check"
	echo
	"$TARGET/debug/why-terminating-agent" check $LAB_AGENT_ARGS || [ $? = 2 ]
	echo
	echo "\$ why-terminating-aggregator serve"
	echo
	"$TARGET/debug/lab" page --picture "$TARGET/demo-page.png"
	echo
	echo "cleaning up …"
'

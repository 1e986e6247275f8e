#!/bin/sh
# Three stuck pods, the answer, and everything cleaned up again.
set -eu
cd "$(dirname "$0")/.."

echo "staging three stuck pods on a private containerd …"
trap 'target/debug/lab down --all' INT TERM
# 2 is the answer "something is stuck".
target/debug/lab with dstate-fuse cwd vol-data-empty --run '
	echo
	echo "\$ sudo why-terminating-agent check"
	echo
	target/debug/why-terminating-agent check $LAB_AGENT_ARGS || [ $? = 2 ]
	echo
	echo "cleaning up …"
'

#!/bin/sh
# Acceptance on a real cluster: the one of KUBECONFIG, whose node is this machine, or with KUBE_ASSETS=DIR one of its
# own; with SET=api one without a node. `tests/e2e/run.sh [SITUATION...]`; with --check it only says whether there is one.
set -eu
cd "$(dirname "$0")/../.."
if [ "${SET-}" = api ]; then
	: "${KUBE_ASSETS:?set it to a directory of release binaries: SET=api makes a control plane of its own}"
elif [ -n "${KUBE_ASSETS-}" ]; then
	tests/e2e/cluster.sh complete
elif [ -z "${KUBECONFIG-}" ]; then
	echo "no cluster: set KUBECONFIG to one whose node is this machine, or KUBE_ASSETS to a directory of release binaries" >&2
	exit 1
fi
[ "${1-}" != --check ] || exit 0
export TARGET="${TARGET:-${CARGO_TARGET_DIR:-target}}"
[ "${SET-}" != api ] || exec sh tests/e2e/api.sh "$@"
# Where PyPI has Helm's library it is the chart that is installed, else what kubectl makes of deploy/.
HELM_PYTHON=$(sh tests/chart/python.sh) || HELM_PYTHON=
export HELM_PYTHON
if [ -n "${KUBE_ASSETS-}" ]; then
	trap 'status=$?; tests/e2e/cluster.sh down || status=1; exit $status' EXIT
	trap 'exit 1' INT TERM
	exports=$(tests/e2e/cluster.sh up)
	eval "$exports"
fi
COMMIT=$(git describe --always --dirty --abbrev=8 2>/dev/null) || COMMIT=
export COMMIT
"$TARGET/debug/e2e" "$@"

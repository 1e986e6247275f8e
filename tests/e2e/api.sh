#!/bin/sh
# The situations of the API's side, on control planes without a node that are made of the release binaries in KUBE_ASSETS (etcd,
# kube-apiserver, kube-controller-manager, kube-scheduler, kubectl). `SET=api tests/e2e/run.sh [SITUATION...]` runs it.
#
# What would disturb others has a control plane of its own, and all run at the same time. Each has a network of its own, in
# which all addresses of pods and Services are this machine: nothing of it is seen from outside.
set -eu

if [ -z "${NUMBER-}" ]; then
	clusters=$("$TARGET/debug/e2e" api clusters "$@")
	started=
	for number in $clusters; do
		NUMBER=$number unshare --net sh "$0" "$@" &
		started="$started $!"
	done
	# shellcheck disable=SC2086
	trap 'kill $started 2>/dev/null; wait; exit 1' INT TERM
	failed=0
	for one in $started; do
		wait "$one" || failed=1
	done
	exit $failed
fi

state=$(mktemp -d)
. "$(dirname "$0")/control-plane.sh"

down() {
	stop proxy scheduler controllers apiserver etcd
	rm -rf "$state"
}

trap 'status=$?; down; exit $status' EXIT
trap 'exit 1' INT TERM
programs etcd kube-apiserver kube-controller-manager kube-scheduler kubectl
command -v openssl >/dev/null || { echo "openssl is not installed: sh tests/packages.sh" >&2; exit 1; }
ip link set lo up
for addresses in 10.96.0.0/16 10.244.0.0/16; do ip route add local $addresses dev lo; done
mkdir -p "$pki" "$state/log" "$state/run"
# What src/api_set/situations/idle.rs waits for does not run.
idle=-garbage-collector-controller,-namespace-controller,-persistentvolumeclaim-protection-controller
[ "$NUMBER" != 12 ] || CONTROLLERS="*,$idle"
# What etcd-full fills.
[ "$NUMBER" != 14 ] || ETCD_QUOTA=16777216
control_plane
# The stand-in for the kubelets speaks to this.
start proxy kubectl proxy --port=8001
within 60 kubectl get serviceaccount default
echo "cluster $NUMBER: $(kube-apiserver --version)"
"$TARGET/debug/e2e" api on "$NUMBER" "$@"

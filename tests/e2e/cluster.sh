#!/bin/sh
# A Kubernetes cluster of one node on this machine, of release binaries.
#
#   KUBE_ASSETS=DIR tests/e2e/cluster.sh up     prints what to export
#   KUBE_ASSETS=DIR tests/e2e/cluster.sh down   leaves nothing behind; fails where something is still mounted
#   KUBE_ASSETS=DIR tests/e2e/cluster.sh complete   says which of the binaries DIR lacks
#   KUBE_ASSETS=DIR tests/e2e/cluster.sh service NAMESPACE NAME   lets pods reach one endpoint of a Service
#
# DIR holds etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kubectl, containerd,
# containerd-shim-runc-v2 and ctr. There is no kube-proxy and no DNS: pods reach the API server at 10.96.0.1 only.
set -eu
state=/var/lib/why-terminating-e2e
run=/run/why-terminating-e2e
node=node-a
socket=$run/containerd.sock
bridge=wte2e0
# What the kubelet, the bridge plugin and containerd set or make on the machine and never remove.
settings="kernel/panic kernel/panic_on_oops vm/overcommit_memory vm/panic_on_oom kernel/keys/root_maxkeys
	kernel/keys/root_maxbytes net/ipv4/ip_forward net/ipv4/conf/all/route_localnet"
directories="/opt/containerd /run/containerd /run/netns /usr/libexec/kubernetes /var/log/pods /var/log/containers"
. "$(dirname "$0")/control-plane.sh"

kube_chains() {
	{ iptables-save; ip6tables-save; } 2>/dev/null | grep '^:KUBE-' || true
}

# SETTING VALUE, or DIRECTORY: as they are before `up`
remember() {
	for setting in $settings; do
		[ ! -r "/proc/sys/$setting" ] || echo "$setting $(cat "/proc/sys/$setting")"
	done >$state/settings
	for directory in $directories; do
		[ -e "$directory" ] || echo "$directory"
	done >$state/directories
}

restore() {
	# An older `up` wrote neither.
	touch $state/settings $state/directories
	# There were none, so these are of pods that a kubelet did not live to take away.
	for logs in /var/log/pods /var/log/containers; do
		! grep -qx $logs $state/directories || rm -rf $logs
	done
	while read -r setting value; do
		[ "$(cat "/proc/sys/$setting")" = "$value" ] || echo "$value" >"/proc/sys/$setting"
	done <$state/settings
	while read -r directory; do
		# What is not empty is not ours.
		[ ! -d "$directory" ] || find "$directory" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done <$state/directories
}

# Whether DIR has all of it.
complete() {
	programs etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl containerd \
		containerd-shim-runc-v2 ctr
}

up() {
	complete
	# tests/packages.sh installs them where KUBE_ASSETS is set.
	for program in openssl socat iptables ip runc; do
		command -v $program >/dev/null || { echo "$program is not installed: sh tests/packages.sh" >&2; exit 1; }
	done
	! pgrep -x kubelet >/dev/null || { echo "a kubelet runs on this machine already" >&2; exit 1; }
	[ ! -e /var/lib/kubelet ] || { echo "/var/lib/kubelet is in use" >&2; exit 1; }
	[ -z "$(kube_chains)" ] || { echo "iptables has chains of another kubelet or kube-proxy" >&2; exit 1; }
	for cni in /usr/lib/cni /opt/cni/bin; do [ ! -x $cni/bridge ] || break; done
	mkdir -p $pki $state/log $state/run $state/cni $run /var/lib/kubelet
	touch /var/lib/kubelet/.why-terminating-e2e
	remember

	control_plane
	certificate kubelet /O=system:nodes/CN=system:node:$node ca \
		"subjectAltName=IP:10.89.0.1,DNS:$node\nextendedKeyUsage=clientAuth,serverAuth"
	kubeconfig kubelet

	cat >$state/containerd.toml <<TOML
version = 3
root = "$state/containerd"
state = "$run/containerd"
[grpc]
  address = "$socket"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "lab.invalid/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  # A machine may lack the right to lower it.
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["$cni"]
    conf_dir = "$state/cni"
# Its socket would be left in /run.
[plugins."io.containerd.nri.v1.nri"]
  disable = true
TOML
	cat >$state/cni/10-e2e.conflist <<JSON
{"cniVersion": "1.0.0", "name": "e2e", "plugins": [{
  "type": "bridge", "bridge": "$bridge", "isGateway": true, "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "$state/addresses", "ranges": [[{"subnet": "10.89.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]}
}]}
JSON
	cat >$state/kubelet.yaml <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://$socket
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $pki/kubelet.crt
tlsPrivateKeyFile: $pki/kubelet.key
enableSystemLogQuery: true
enableSystemLogHandler: true
evictionHard: {nodefs.available: 1%, imagefs.available: 1%, memory.available: 50Mi}
imageGCHighThresholdPercent: 100
YAML
	ip link add $bridge type bridge
	ip addr add 10.89.0.1/16 dev $bridge
	ip link set $bridge up
	start containerd containerd -c $state/containerd.toml
	within 30 ctr -a $socket version
	# These pass over the field of the configuration, which they do not know.
	case $(kubelet --version) in *\ v1.2[0-6].*) set -- --container-runtime-endpoint "unix://$socket" ;; esac
	start kubelet kubelet "$@" --config $state/kubelet.yaml --kubeconfig $pki/kubelet.kubeconfig \
		--hostname-override $node --node-ip 10.89.0.1 --v=3
	within 90 kubectl wait --for=condition=Ready node/$node --timeout=1s
	# Where pods look for the API server.
	start forward socat TCP-LISTEN:6444,bind=10.89.0.1,fork,reuseaddr TCP:127.0.0.1:6443
	iptables -t nat -A PREROUTING -i $bridge -d 10.96.0.1 -p tcp --dport 443 -j DNAT --to-destination 10.89.0.1:6444
	echo "export PATH=$KUBE_ASSETS:\$PATH KUBECONFIG=$KUBECONFIG CRI_SOCK=$socket CNI_CONF_DIR=$state/cni"
}

service() { # NAMESPACE NAME
	from=$(kubectl -n "$1" get service "$2" -o 'jsonpath={.spec.clusterIP} {.spec.ports[0].port}')
	to=$(kubectl -n "$1" get endpointslices -l "kubernetes.io/service-name=$2" \
		-o 'jsonpath={.items[0].endpoints[?(@.conditions.ready==true)].addresses[0]} {.items[0].ports[0].port}')
	ready=$(echo "$to" | awk '{ print $1 ":" $NF }')
	stop service
	start service socat TCP-LISTEN:6445,bind=10.89.0.1,fork,reuseaddr "TCP:$ready"
	rule="PREROUTING -i $bridge -d ${from% *} -p tcp --dport ${from#* } -j DNAT --to-destination 10.89.0.1:6445"
	# shellcheck disable=SC2086
	iptables -t nat -C $rule 2>/dev/null || { iptables -t nat -A $rule && echo "$rule" >>$state/run/rules; }
}

down() {
	# Where `up` has refused, nothing here is ours.
	[ -e /var/lib/kubelet/.why-terminating-e2e ] || return 0
	kubectl delete pods --all-namespaces --all --force --grace-period=0 >/dev/null 2>&1 || true
	sleep 5
	stop kubelet forward service scheduler controllers apiserver
	for pid in $(pgrep -f "containerd-shim-runc-v2.*$socket"); do kill -9 "$pid" 2>/dev/null || true; done
	stop containerd etcd
	# Whose shim has gone goes on.
	find /sys/fs/cgroup/*/kubepods /sys/fs/cgroup/kubepods -name cgroup.procs -exec cat {} + 2>/dev/null |
		while read -r pid; do kill -9 "$pid" 2>/dev/null || true; done
	sleep 1
	mounts() { awk '{ print $5 }' /proc/self/mountinfo | grep -E "^($run|$state|/var/lib/kubelet)(/|\$)" | sort -r; }
	for mount in $(mounts); do umount "$mount" 2>/dev/null || true; done
	for pods in /sys/fs/cgroup/*/kubepods /sys/fs/cgroup/kubepods; do
		[ ! -d "$pods" ] || find "$pods" -depth -type d -exec rmdir {} + 2>/dev/null || true
	done
	iptables -t nat -D PREROUTING -i $bridge -d 10.96.0.1 -p tcp --dport 443 -j DNAT --to-destination 10.89.0.1:6444 \
		2>/dev/null || true
	while read -r rule; do
		# shellcheck disable=SC2086
		iptables -t nat -D $rule 2>/dev/null || true
	done 2>/dev/null <$state/run/rules || true
	# The kubelet's own, which it leaves. There were none before.
	for family in iptables ip6tables; do
		$family-save -c 2>/dev/null | grep -v KUBE- | $family-restore -c 2>/dev/null || true
	done
	ip link del $bridge 2>/dev/null || true
	for namespace in $(ip netns list 2>/dev/null | awk '/^cni-/ { print $1 }'); do ip netns del "$namespace" || true; done
	if [ -n "$(mounts)" ]; then
		echo "still mounted, so it is left as it is:" >&2
		mounts >&2
		exit 1
	fi
	restore
	rm -rf $state $run
	rm -f /var/lib/cni/results/e2e-*
	rmdir /var/lib/cni/results /var/lib/cni 2>/dev/null || true
	rm -rf --one-file-system /var/lib/kubelet
	left=$({
		pgrep -f "($state|$run)/"
		find /sys/fs/cgroup -maxdepth 2 -name kubepods
		ip -o link show $bridge
		iptables -t nat -S PREROUTING | grep 10.89.0.1
		kube_chains
	} 2>/dev/null || true)
	[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
}

"$@"

#!/bin/sh
# etcd, an API server, its controllers and its scheduler, of the release binaries in $KUBE_ASSETS, below $state. cluster.sh and
# api.sh read it.
: "${KUBE_ASSETS:?the directory of the binaries}"
pki=$state/pki
PATH="$KUBE_ASSETS:$PATH"
KUBECONFIG=$pki/admin.kubeconfig
export PATH KUBECONFIG

# PROGRAM...: whether DIR has all of them.
programs() {
	for program; do
		[ -x "$KUBE_ASSETS/$program" ] || { echo "no $program in $KUBE_ASSETS" >&2; exit 1; }
	done
}

# NAME COMMAND...: in the background, until `down`
start() {
	name=$1
	shift
	setsid nohup "$@" >"$state/log/$name.log" 2>&1 </dev/null &
	echo $! >"$state/run/$name.pid"
}

ca() { # NAME
	openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$1" -keyout "$pki/$1.key" -out "$pki/$1.crt" 2>/dev/null
}

certificate() { # NAME SUBJECT CA EXTENSIONS
	openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$pki/$1.key" -out "$pki/$1.csr" 2>/dev/null
	printf '%b\n' "$4" >"$pki/$1.ext"
	openssl x509 -req -in "$pki/$1.csr" -CA "$pki/$3.crt" -CAkey "$pki/$3.key" -CAcreateserial -days 30 \
		-extfile "$pki/$1.ext" -out "$pki/$1.crt" 2>/dev/null
}

kubeconfig() { # NAME
	set -- "$pki/$1" kubectl config --kubeconfig="$pki/$1.kubeconfig"
	files=$1
	shift
	"$@" set-cluster it --server=https://127.0.0.1:6443 --certificate-authority="$pki/ca.crt" --embed-certs >/dev/null
	"$@" set-credentials it --client-certificate="$files.crt" --client-key="$files.key" --embed-certs >/dev/null
	"$@" set-context it --cluster=it --user=it >/dev/null
	"$@" use-context it >/dev/null
}

within() { # SECONDS COMMAND...
	left=$1
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || { echo "in vain: $*; see $state/log" >&2; exit 1; }
		sleep 1
	done
}

stop() { # NAME...
	for name; do
		pid=$(cat $state/run/"$name".pid 2>/dev/null) || continue
		kill "$pid" 2>/dev/null || continue
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.5
		done
		kill -9 "$pid" 2>/dev/null || true
	done
}

control_plane() {
	ca ca
	ca front
	client='extendedKeyUsage=clientAuth'
	certificate server /CN=kube-apiserver ca \
		"subjectAltName=IP:127.0.0.1,IP:10.96.0.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
	certificate admin /O=system:masters/CN=admin ca $client
	certificate controllers /CN=system:kube-controller-manager ca $client
	certificate scheduler /CN=system:kube-scheduler ca $client
	certificate to-kubelet /O=system:masters/CN=apiserver-kubelet ca $client
	certificate proxy /CN=front-proxy-client front $client
	openssl genrsa -out $pki/accounts.key 2048 2>/dev/null
	openssl rsa -in $pki/accounts.key -pubout -out $pki/accounts.pub 2>/dev/null
	for name in admin controllers scheduler; do kubeconfig $name; done
	start etcd etcd --data-dir $state/etcd --unsafe-no-fsync --quota-backend-bytes "${ETCD_QUOTA:-0}" --listen-peer-urls http://127.0.0.1:2380 \
		--listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379
	start apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=127.0.0.1 \
		--advertise-address=127.0.0.1 --endpoint-reconciler-type=none --service-cluster-ip-range=10.96.0.0/16 \
		--enable-aggregator-routing=true \
		--tls-cert-file=$pki/server.crt --tls-private-key-file=$pki/server.key --client-ca-file=$pki/ca.crt \
		--service-account-key-file=$pki/accounts.pub --service-account-signing-key-file=$pki/accounts.key \
		--service-account-issuer=https://kubernetes.default.svc --authorization-mode=Node,RBAC --allow-privileged=true \
		--kubelet-client-certificate=$pki/to-kubelet.crt --kubelet-client-key=$pki/to-kubelet.key \
		--kubelet-preferred-address-types=InternalIP --requestheader-client-ca-file=$pki/front.crt \
		--requestheader-allowed-names=front-proxy-client --requestheader-username-headers=X-Remote-User \
		--requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
		--proxy-client-cert-file=$pki/proxy.crt --proxy-client-key-file=$pki/proxy.key
	within 60 kubectl get --raw /readyz
	start controllers kube-controller-manager --kubeconfig $pki/controllers.kubeconfig \
		--authentication-kubeconfig $pki/controllers.kubeconfig --authorization-kubeconfig $pki/controllers.kubeconfig \
		--use-service-account-credentials --service-account-private-key-file $pki/accounts.key \
		--root-ca-file $pki/ca.crt --controllers "${CONTROLLERS:-*}"
	start scheduler kube-scheduler --kubeconfig $pki/scheduler.kubeconfig --leader-elect=false
}

#!/bin/sh
# Installs what the lab needs and this machine lacks. Says what it does; does nothing twice.
set -eu

if [ "$(id -u)" != 0 ]; then
	echo "The lab makes real mounts, cgroups and containers: run this as root (sudo make …)." >&2
	exit 1
fi

if [ ! -d /sys/fs/cgroup/pids ] && [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
	echo "No cgroups are mounted at /sys/fs/cgroup: the lab needs version 2, or the hierarchies of version 1." >&2
	exit 1
fi

missing=""
need() { # command, package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need containerd containerd
need runc runc
need git git
need losetup mount
need mkfs.ext4 e2fsprogs
need mkfs.xfs xfsprogs
need unshare util-linux
need pgrep procps
need python3 python3
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
need lsof lsof
need strace strace
need fuser psmisc
need fish fish
need curl curl
need buildah buildah
need jq jq
# tests/axe.sh fetches axe-core with it.
need npm npm
# As tests/browser looks for it. Ubuntu packages none but as a snap.
browser=""
for name in chromium chromium-browser chromium-headless-shell google-chrome google-chrome-stable; do
	! command -v $name >/dev/null 2>&1 || browser=$name
done
if [ -z "$browser" ]; then
	if grep -q '^ID=ubuntu' /etc/os-release; then
		echo "The page is looked at with Chromium, which Ubuntu has as a snap: \`snap install chromium\`" >&2
		exit 1
	fi
	missing="$missing chromium"
fi
need cc build-essential
[ -x /usr/lib/cni/loopback ] || [ -x /opt/cni/bin/loopback ] || missing="$missing containernetworking-plugins"
# For the cluster of tests/e2e/cluster.sh.
if [ -n "${KUBE_ASSETS-}" ]; then
	need openssl openssl
	need socat socat
	need iptables iptables
	need ip iproute2
fi
# The images are built around a busybox without shared libraries.
if ! command -v busybox >/dev/null 2>&1 || ldd "$(command -v busybox)" >/dev/null 2>&1; then
	missing="$missing busybox-static"
fi

if [ -n "$missing" ]; then
	echo "installing:$missing"
	apt-get update -q >/dev/null
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
fi

if ! command -v cargo >/dev/null 2>&1 && [ ! -x "$HOME/.cargo/bin/cargo" ]; then
	if apt-get update -q >/dev/null && apt-cache show rustup >/dev/null 2>&1; then
		echo "installing: rustup"
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends rustup >/dev/null
		rustup default stable
	else
		echo "Rust 1.95 or newer is needed and this distribution does not package rustup: see https://rustup.rs" >&2
		exit 1
	fi
fi

# FUSE is a module on some machines.
[ -e /dev/fuse ] || modprobe fuse || { echo "this kernel has no FUSE" >&2; exit 1; }

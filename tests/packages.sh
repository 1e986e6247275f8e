#!/bin/sh
# Installs what the lab needs and this machine lacks. Says what it does; does nothing twice.
set -eu

if [ "$(id -u)" != 0 ]; then
	echo "The lab makes real mounts, cgroups and containers: run this as root (sudo make …)." >&2
	exit 1
fi

missing=""
need() { # command, package
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
need containerd containerd
need runc runc
need busybox busybox-static
need losetup mount
need mkfs.ext4 e2fsprogs
need python3 python3
need unshare util-linux
need lsof lsof
need fuser psmisc
need cc build-essential
# The images are built around a busybox without shared libraries.
if command -v busybox >/dev/null 2>&1 && ldd "$(command -v busybox)" >/dev/null 2>&1; then
	missing="$missing busybox-static"
fi
command -v cargo >/dev/null 2>&1 || [ -x "$HOME/.cargo/bin/cargo" ] || missing="$missing rustup"

if [ -n "$missing" ]; then
	echo "installing:$missing"
	apt-get update -q >/dev/null
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
	case "$missing" in
	*rustup*) rustup default stable ;;
	esac
fi

# FUSE is a module on some machines.
[ -e /dev/fuse ] || modprobe fuse || { echo "this kernel has no FUSE" >&2; exit 1; }

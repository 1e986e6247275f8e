#!/bin/sh
# Runs in the virtual machine: starts the servers that the scenarios wait for, then the command that run.sh has left.
cd "$1" || exit 1
echo "booted after $(cut -d' ' -f1 /proc/uptime) s: $(uname -r), AppArmor $(cat /sys/module/apparmor/parameters/enabled)"
set -eux
ip link set lo up
ip address add 10.99.0.1/32 dev lo
mkdir -p /srv/export
modprobe nfsd
mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs/v4recovery
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
systemctl start rpcbind.socket
rpc.statd || true
rpc.nfsd 4
rpc.mountd
exportfs -o rw,no_root_squash,no_subtree_check,insecure '*:/srv/export'
set +e
echo "served after $(cut -d' ' -f1 /proc/uptime) s"
# /run is mounted noexec.
export WHY_TERMINATING_LAB_VM=1 WHY_TERMINATING_LAB_DIR=/var/lib/why-terminating-lab
sh "$2/command"
status=$?
echo "ended with $status after $(cut -d' ' -f1 /proc/uptime) s"
echo $status >"$2/status"
sync -f "$2/status"
# Without waiting for servers that the scenarios have started.
echo b >/proc/sysrq-trigger

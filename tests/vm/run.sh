#!/bin/sh
# Runs the scenarios vm-* in a virtual machine: a task of theirs may never end. `run.sh [FILTER]`; KEEP_ANSWERS=1 as elsewhere.
set -eu

dir=$(realpath -m "${TARGET:-target}")/vm
mkdir -p "$dir"
# What is in the machine; a change makes its image anew. initramfs-tools before the kernel, which needs one.
packages=systemd,systemd-sysv,udev,dbus,kmod,iproute2,iptables,procps,psmisc,apparmor,containerd,runc,busybox-static
packages=$packages,containernetworking-plugins,e2fsprogs,xfsprogs,dmsetup,nfs-kernel-server,nfs-common,initramfs-tools
# Debian's kernel without `-cloud`, which lacks 9p. debootstrap does not resolve what Samba depends on.
more="linux-image-amd64 nbd-server nbd-client tgt open-iscsi samba cifs-utils lvm2 mdadm multipath-tools autofs"

if ! command -v qemu-system-x86_64 >/dev/null || ! command -v debootstrap >/dev/null; then
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends qemu-system-x86 debootstrap >/dev/null
fi

# It runs tests/vm/inside.sh of the shared repository, and nothing of a usual boot that this does not need.
make_image() {
	echo "making the machine's image" >&2
	root=$dir/root
	rm -rf "$root" "$dir/image"
	debootstrap --variant=minbase --include="$packages" bookworm "$root" >"$dir/image.log"
	# shellcheck disable=SC2086 # words
	DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -q --no-install-recommends $more >>"$dir/image.log" 2>&1
	cat >"$root/etc/systemd/system/lab.service" <<-UNIT
		[Service]
		Type=oneshot
		StandardOutput=tty
		StandardError=tty
		TTYPath=/dev/ttyS0
		ExecStartPre=mkdir -p $PWD
		ExecStartPre=mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose repository $PWD
		ExecStart=sh $PWD/tests/vm/inside.sh $PWD $dir
		ExecStopPost=sh -c 'echo b >/proc/sysrq-trigger'
	UNIT
	cp "$root"/boot/vmlinuz-* "$dir/kernel"
	cp "$root"/boot/initrd.img-* "$dir/initrd"
	rm -f "$root"/var/cache/apt/archives/*.deb
	mke2fs -q -t ext4 -d "$root" "$dir/image" 4G
	rm -rf "$root"
	cat "$0" >"$dir/made-by"
}
cmp -s "$0" "$dir/made-by" || make_image

test=$(${CARGO:-cargo} test -p scenarios --test scenarios --no-run 2>&1 | sed -n 's/.*(\(.*scenarios-.*\))/\1/p')
echo "KEEP_ANSWERS=${KEEP_ANSWERS-} $(realpath "$test") ${1:-vm-}" | sed 's/^KEEP_ANSWERS= //' >"$dir/command"
rm -f "$dir/status"
# /dev/kvm may open and yet run no guest, where the processor is itself emulated.
accelerator=tcg,thread=multi
! grep -qE 'vmx|svm' /proc/cpuinfo || accelerator=kvm
timeout "${LIMIT:-3000}" qemu-system-x86_64 -accel "$accelerator" -cpu max -smp 2 -m 3G -nographic -no-reboot -nic none \
	-kernel "$dir/kernel" -initrd "$dir/initrd" -append "root=/dev/vda rw console=ttyS0 systemd.unit=lab.service quiet" \
	-drive "file=$dir/image,if=virtio,format=raw,snapshot=on" \
	-virtfs "local,path=$PWD,mount_tag=repository,security_model=none,multidevs=remap" </dev/null | tee "$dir/console"
[ "$(cat "$dir/status" 2>/dev/null)" = 0 ] || { echo "the scenarios in the machine failed: see $dir/console" >&2; exit 1; }

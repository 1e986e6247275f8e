#!/bin/sh
# Puts a release together from programs that are built: archives of the plugin, the krew manifest that names them, the
# images, the chart as `helm package` would name it, and the checksums of all. Each archive is the same whenever it is made
# from the same files.
#
#    deploy/release.sh OUTPUT PLUGIN... [-- IMAGE...]
#
# PLUGIN is OS-ARCH=FILE (linux-amd64=target/release/kubectl-why_terminating), with licenses.txt and sbom.cdx.json beside
# FILE, IMAGE an archive of `make image`. `make release` builds them and calls this.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 1; }
output=$1
shift
# The one place that has the version.
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
rm -rf "$output"
mkdir -p "$output"
output=$(cd "$output" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packed() { # FOLDER WHAT ARCHIVE
	tar -C "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -cf - "$2" |
		gzip -9n >"$3"
}

archive() { # OS-ARCH, program
	mkdir "$work/$1"
	case $1 in windows-*) program=kubectl-why_terminating.exe ;; *) program=kubectl-why_terminating ;; esac
	install -m 755 "$2" "$work/$1/$program"
	install -m 644 "$root/LICENSE" "$root"/docs/man/kubectl-why_terminating*.1 "$work/$1"
	install -m 644 "$(dirname "$2")/licenses.txt" "$(dirname "$2")/sbom.cdx.json" "$work/$1"
	packed "$work/$1" . "$output/kubectl-why_terminating-$1.tar.gz"
	sum=$(sha256sum "$output/kubectl-why_terminating-$1.tar.gz" | cut -d' ' -f1)
	sed -e "s/PLATFORM/$1/; s/OS/${1%-*}/; s/ARCH/${1#*-}/; s/SHA256/$sum/; s/VERSION/$version/; s/PROGRAM/$program/" \
		"$root/deploy/krew/platform.yaml" >>"$work/platforms"
}

while [ $# -gt 0 ] && [ "$1" != -- ]; do
	archive "${1%%=*}" "${1#*=}"
	shift
done
sed "s/VERSION/$version/" "$root/deploy/krew/why-terminating.yaml" | cat - "$work/platforms" >"$output/why-terminating.yaml"
[ $# -eq 0 ] || shift
for image in "$@"; do
	install -m 644 "$image" "$output/"
done
mkdir "$work/chart"
cp -R "$root/deploy/chart" "$work/chart/why-terminating"
packed "$work/chart" why-terminating "$output/why-terminating-$version.tgz"
(cd "$output" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
echo "$output: version $version"

#!/bin/sh
# Writes the files of a release: archives of the plugin, krew's manifest for them, the images, the chart as `helm package`
# would name it, and checksums.
#
#    release.sh OUTPUT amd64,arm64
#
# IMAGE_REPOSITORY (ghcr.io/OWNER/why-terminating) is where the images will be and REPOSITORY_URL (https://github.com/OWNER/why-terminating)
# where this release will be: chart, krew's manifest and programs then name them. Without them all name a host that never resolves.
set -eu
cd "$(dirname "$0")/.."
. deploy/programs.sh
rm -rf "$1"
mkdir -p "$1"
output=$(realpath "$1") machines=$2
export IMAGE_REPOSITORY="${IMAGE_REPOSITORY:-$unpublished}" REPOSITORY_URL="${REPOSITORY_URL:-https://$unpublished}"
export WHY_TERMINATING_AGENT_IMAGE="$IMAGE_REPOSITORY/agent:$version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# The same files give the same archive.
packed() { # FOLDER WHAT ARCHIVE
	tar -C "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -cf - "$2" |
		gzip -9n >"$3"
}

# Puts in where the release is, and its version.
published() {
	sed -i "s#https://$unpublished#$REPOSITORY_URL#g; s#$unpublished#$IMAGE_REPOSITORY#g; s#VERSION#$version#g" "$@"
}

cp deploy/krew/why-terminating.yaml "$output"
for machine in $(echo "$machines" | tr , ' '); do
	name=kubectl-why_terminating-linux-$machine
	sh deploy/contents.sh plugin release "$machine" "$work/$name"
	install -m 644 LICENSE docs/man/kubectl-why_terminating*.1 "$work/$name"
	packed "$work/$name" . "$output/$name.tar.gz"
	sum=$(sha256sum <"$output/$name.tar.gz" | cut -d' ' -f1)
	sed "s/ARCH/$machine/; s/SHA256/$sum/" deploy/krew/platform.yaml >>"$output/why-terminating.yaml"
done
published "$output/why-terminating.yaml"
sh deploy/image.sh all release "$output" "$machines"
mkdir "$work/chart"
cp -R deploy/chart "$work/chart/why-terminating"
published "$work/chart/why-terminating/Chart.yaml" "$work/chart/why-terminating/values.yaml"
packed "$work/chart" why-terminating "$output/why-terminating-$version.tgz"
(cd "$output" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
echo "$output: version $version"

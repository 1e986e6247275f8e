#!/bin/sh
# Writes the files of a release: archives of the plugin, krew's manifest for them, the images, the chart as `helm package`
# would name it, and checksums.
#
#    release.sh OUTPUT amd64,arm64 [windows-amd64,windows-arm64]
#
# The second list: further platforms of the plugin. PREBUILT: a directory with archives of it that were made elsewhere, as those for
# macOS (deploy/plugin-archive.sh).
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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# Puts in where the release is, and its version.
published() {
	sed -i "s#https://$unpublished#$REPOSITORY_URL#g; s#$unpublished#$IMAGE_REPOSITORY#g; s#VERSION#$version#g" "$@"
}

cp deploy/krew/why-terminating.yaml "$output"
for platform in $(echo "$machines" | sed 's/[^,]*/linux-&/g' | tr , ' ') $(echo "${3-}" | tr , ' '); do
	sh deploy/plugin-archive.sh "$platform" "$output"
done
[ -z "${PREBUILT-}" ] || cp "$PREBUILT"/kubectl-why_terminating-*.tar.gz "$output"
for archive in "$output"/kubectl-why_terminating-*.tar.gz; do
	platform=${archive##*kubectl-why_terminating-}
	platform=${platform%.tar.gz}
	case $platform in windows-*) program=kubectl-why_terminating.exe ;; *) program=kubectl-why_terminating ;; esac
	sum=$(sha256sum <"$archive" | cut -d' ' -f1)
	sed "s/OS/${platform%-*}/; s/ARCH/${platform#*-}/; s/PROGRAM/$program/; s/SHA256/$sum/" deploy/krew/platform.yaml \
		>>"$output/why-terminating.yaml"
done
published "$output/why-terminating.yaml"
sh deploy/image.sh all release "$output" "$machines"
mkdir "$work/chart"
cp -R deploy/chart "$work/chart/why-terminating"
published "$work/chart/why-terminating/Chart.yaml" "$work/chart/why-terminating/values.yaml"
packed "$work/chart" why-terminating "$output/why-terminating-$version.tgz"
(cd "$output" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
echo "$output: version $version"

#!/bin/sh
# Builds the images of programs with the Dockerfile, from static builds of this machine, as OCI archives in a folder. It needs
# buildah, no daemon and no registry. The images for several machines are one archive.
#
#    image.sh agent|aggregator|plugin|all dev|release FOLDER [amd64,arm64]
set -eu
cd "$(dirname "$0")/.."
. deploy/programs.sh
profile=$2 folder=$3
machines=${4:-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')}
command -v buildah >/dev/null || { echo "buildah is missing (Debian: apt-get install buildah)" >&2; exit 1; }
mkdir -p "$folder"
work=$(mktemp -d "$folder/image.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
engine() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }

# The name that the deployment uses, so that its pods find an imported image.
name() { # program
	case $1 in
	agent) images=deploy/base ;;
	aggregator) images=deploy/aggregator ;;
	plugin) echo "why-terminating.invalid/kubectl-why-terminating:$version"; return ;;
	esac
	sed -n 's/ *newName: //p; s/ *newTag: /:/p' "$images/kustomization.yaml" | tr -d '\n'
}

for program in $(programs "$1"); do
	archive=$folder/$(binary "$program").oci.tar
	name=$(name "$program")
	for machine in $(echo "$machines" | tr , ' '); do
		rm -rf "$work/context"
		sh deploy/contents.sh "$program" "$profile" "$machine" "$work/context/$program"
		engine bud -q --isolation chroot --timestamp 0 --omit-history --unsetenv PATH --build-arg BINARIES=prebuilt \
			--target "$program" --arch "$machine" --manifest "$name" --file Dockerfile "$work/context" >/dev/null
	done
	engine manifest push -q --all "$name" "oci-archive:$work/archive:$name" >/dev/null
	# Readers never see a partial file.
	mv "$work/archive" "$archive"
	echo "$archive ($name, $(($(wc -c <"$archive") / 1024)) KiB)"
done

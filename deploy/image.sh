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
	plugin) echo "${IMAGE_REPOSITORY:-$unpublished}/kubectl-why-terminating:$version" ;;
	*) echo "${IMAGE_REPOSITORY:-$unpublished}/$1:$version" ;;
	esac
}

# What a published image says of its origin.
origin() {
	[ -n "${REPOSITORY_URL:-}" ] || return 0
	echo "--label org.opencontainers.image.source=$REPOSITORY_URL --label org.opencontainers.image.url=$REPOSITORY_URL"
	git log -1 --format='--label org.opencontainers.image.revision=%H --label org.opencontainers.image.created=%cI'
}

for program in $(programs "$1"); do
	archive=$folder/$(binary "$program").oci.tar
	name=$(name "$program")
	for machine in $(echo "$machines" | tr , ' '); do
		rm -rf "$work/context"
		sh deploy/contents.sh "$program" "$profile" "$machine" "$work/context/$program"
		# shellcheck disable=SC2046 # arguments
		engine bud -q --isolation chroot --timestamp 0 --omit-history --unsetenv PATH --build-arg BINARIES=prebuilt \
			$(origin) --target "$program" --arch "$machine" --manifest "$name" --file Dockerfile "$work/context" >/dev/null
	done
	engine manifest push -q --all "$name" "oci-archive:$work/archive:$name" >/dev/null
	# Readers never see a partial file.
	mv "$work/archive" "$archive"
	echo "$archive ($name, $(($(wc -c <"$archive") / 1024)) KiB)"
done

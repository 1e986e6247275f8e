#!/bin/sh
# Builds every stage of the Dockerfile with buildah, around a stand-in for its base image: no registry is asked, and in
# the place of the compiler stands what copies a static busybox. So everything of it runs but the compilation itself,
# which `make image` runs outside of a container. As root.
set -eu
cd "$(dirname "$0")/.."
if ! command -v buildah >/dev/null 2>&1; then
	echo "installing: buildah"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends buildah >/dev/null
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export TMPDIR="$work/tmp"
mkdir -p "$work/base/bin" "$work/base/tmp" "$TMPDIR"
engine() { buildah --storage-driver overlay --root "$work/store" --runroot "$work/run" "$@"; }

cp "$(command -v busybox)" "$work/base/bin/busybox"
for name in sh sed cp mkdir tr; do ln -s busybox "$work/base/bin/$name"; done
cat >"$work/base/bin/rustc" <<'STAND_IN'
#!/bin/sh
echo "host: x86_64-unknown-linux-gnu"
STAND_IN
# It takes the words that the Dockerfile says, and no others, and asks for all that cargo would read first.
cat >"$work/base/bin/cargo" <<'STAND_IN'
#!/bin/sh
set -eu
words="build --locked --release --target x86_64-unknown-linux-gnu -p why-terminating-agent -p why-terminating-aggregator-service -p why-terminating-aggregator"
[ "$*" = "$words" ] || { echo "cargo is asked to $*" >&2; exit 1; }
[ "$RUSTFLAGS" = "-C target-feature=+crt-static" ]
[ -f Cargo.lock ]
for member in $(sed -n 's/^members = \[\(.*\)\]/\1/p' Cargo.toml | tr -d '",'); do
	[ -f "$member/Cargo.toml" ] || { echo ".dockerignore leaves out $member" >&2; exit 1; }
done
built=target/x86_64-unknown-linux-gnu/release
mkdir -p "$built"
for program in why-terminating-agent why-terminating-aggregator kubectl-why_terminating; do cp /bin/busybox "$built/$program"; done
STAND_IN
chmod 755 "$work/base/bin/rustc" "$work/base/bin/cargo"
base=$(engine from scratch)
engine copy -q "$base" "$work/base" / >/dev/null
engine config --env PATH=/bin "$base"
engine commit -q --rm "$base" "docker.io/library/$(sed -n 's/^FROM \(.*\) AS build$/\1/p' Dockerfile)" >/dev/null

while read -r target program user; do
	engine bud -q --isolation chroot --pull-never --target "$target" -t "$target:tried" . >/dev/null
	said=$(engine inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' "$target:tried")
	[ "$said" = "$user [/$program]" ] || { echo "the image of the $target says $said" >&2; exit 1; }
	held=$(engine from --pull-never "$target:tried")
	names=$(ls -A "$(engine mount "$held")")
	engine umount "$held" >/dev/null
	[ "$names" = "$program" ] || { echo "the image of the $target holds $names" >&2; exit 1; }
	echo "Dockerfile: $target: $said"
done <<'IMAGES'
agent why-terminating-agent 0:0
aggregator why-terminating-aggregator 65532:65532
plugin kubectl-why_terminating 65532:65532
IMAGES

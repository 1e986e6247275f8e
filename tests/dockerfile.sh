#!/bin/sh
# Builds every stage of the Dockerfile with buildah, around a stand-in for its base image: no registry is asked, and in
# the place of the compiler stands what copies a static busybox. So everything of it runs but the compilation itself,
# which `make image` runs outside of a container, and xtask's writing of licences and bill of materials, which
# tests/image.py runs. As root.
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
for name in sh sed cp mkdir tr basename; do ln -s busybox "$work/base/bin/$name"; done
cat >"$work/base/bin/rustc" <<'STAND_IN'
#!/bin/sh
echo "host: x86_64-unknown-linux-gnu"
STAND_IN
# It takes the words that the Dockerfile says, and no others, and asks for all that cargo and xtask would read first.
cat >"$work/base/bin/cargo" <<'STAND_IN'
#!/bin/sh
set -eu
words="build --locked --release --target x86_64-unknown-linux-gnu -p why-terminating-agent -p why-terminating-aggregator -p kubectl-why-terminating"
case "$*" in
"run --locked -p xtask -- bill "*)
	[ -f LICENSE ] || { echo ".dockerignore leaves out LICENSE" >&2; exit 1; }
	[ -x "$8" ]
	for name in licenses.txt sbom.cdx.json; do echo "$name of $7, $(basename "$8")" >"$9/$name"; done
	exit
	;;
esac
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

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
label() { engine inspect --type image --format "{{index .OCIv1.Config.Labels \"org.opencontainers.image.$2\"}}" "$1:tried"; }

while read -r target program user; do
	engine bud -q --isolation chroot --pull-never --target "$target" -t "$target:tried" . >/dev/null
	said=$(engine inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' "$target:tried")
	[ "$said" = "$user [/$program]" ] || { echo "the image of the $target says $said" >&2; exit 1; }
	labels="$(label "$target" title) $(label "$target" version) $(label "$target" licenses)"
	[ "$labels" = "$program $version Apache-2.0" ] || { echo "the labels of the $target are $labels" >&2; exit 1; }
	[ -n "$(label "$target" description)" ]
	held=$(engine from --pull-never "$target:tried")
	mounted=$(engine mount "$held")
	names=$(cd "$mounted" && LC_ALL=C ls -A | tr '\n' ' ')
	beside=$(cat "$mounted/licenses.txt" "$mounted/sbom.cdx.json")
	engine umount "$held" >/dev/null
	[ "$names" = "$(printf '%s\n' "$program" licenses.txt sbom.cdx.json | LC_ALL=C sort | tr '\n' ' ')" ] ||
		{ echo "the image of the $target holds $names" >&2; exit 1; }
	[ "$beside" = "licenses.txt of $target, $program
sbom.cdx.json of $target, $program" ] || { echo "beside the $target lies $beside" >&2; exit 1; }
	echo "Dockerfile: $target: $said, $labels, with licences and bill of materials"
done <<'IMAGES'
agent why-terminating-agent 0:0
aggregator why-terminating-aggregator 65532:65532
plugin kubectl-why_terminating 65532:65532
IMAGES

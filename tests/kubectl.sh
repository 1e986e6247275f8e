#!/bin/sh
# Puts the kubectl that the tests use into $TARGET/tools: the one that KUBECTL names, else Debian's. Debian 12's own is 1.20
# and knows no `kubectl events`; a newer suite has what goes with the fake API server. apt checks the signatures as always,
# but with a source and lists of its own: nothing is installed, and what this machine installs from stays as it is.
# Ubuntu packages none: there it is the one of KUBECTL or of PATH.
set -eu

suite=forky
tools=${TARGET:-${CARGO_TARGET_DIR:-target}}/tools
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# PROGRAM: the tests use that one, if it is new enough.
take() {
	minor=$("$1" version --client -o json | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p')
	[ "${minor:-0}" -ge 32 ] || return 1
	path=$(command -v "$1")
	case $path in /*) ;; *) path=$PWD/$path ;; esac
	mkdir -p "$tools"
	# Not its target: a snap's programs go by the name of the link.
	[ "$path" -ef "$tools/kubectl" ] || ln -sf "$path" "$tools/kubectl"
	echo "taking: $path, 1.$minor"
}

if [ -n "${KUBECTL:-}" ]; then
	take "$KUBECTL" || { echo "KUBECTL=$KUBECTL is no kubectl of 1.32 or newer" >&2; exit 1; }
	exit
fi
[ ! -x "$tools/kubectl" ] || exit 0

# The mirror this machine installs from has the other suites too.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL) $(COMPONENT)' 'Created-By: Packages' |
	awk '$2 == "Debian" && $3 == "main" { print $1; exit }')
if [ -z "$mirror" ]; then
	if command -v kubectl >/dev/null && take kubectl; then exit; fi
	echo "This machine installs from no Debian mirror, and has no kubectl of 1.32 or newer: install one (on Ubuntu" >&2
	echo "\`snap install kubectl --classic\`; others: https://kubernetes.io/docs/tasks/tools), or name one in KUBECTL." >&2
	exit 1
fi
if [ ! -f "$keyring" ]; then
	echo "installing: debian-archive-keyring"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends debian-archive-keyring >/dev/null
fi

echo "fetching: kubectl from Debian $suite"
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
chmod 755 "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
# apt downloads as this user.
install -d -o _apt "$work/package"
echo "deb [signed-by=$keyring target=Packages] $mirror $suite main" >"$work/sources.list"
apt() {
	apt-get -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o Acquire::Languages=none \
		-o Acquire::Retries=3 -o APT::Update::Error-Mode=any "$@" >/dev/null
}
apt update
(cd "$work/package" && apt download "kubectl/$suite")
dpkg-deb -x "$work"/package/kubectl_*.deb "$work/package"
"$work/package/usr/bin/kubectl" version --client >/dev/null
# Whole or not at all.
mv "$work/package/usr/bin/kubectl" "$tools/kubectl.new"
mv "$tools/kubectl.new" "$tools/kubectl"

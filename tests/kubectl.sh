#!/bin/sh
# Puts the kubectl that the tests use into $TARGET/tools: the one that KUBECTL names, else Debian's. Debian 12's own is 1.20
# and knows no `kubectl events`; a newer suite has what goes with the fake API server.
# Ubuntu packages none: there it is the one of KUBECTL or of PATH.
set -eu

tools=${TARGET:-${CARGO_TARGET_DIR:-target}}/tools

# PROGRAM: the tests use that one, if it is new enough.
take() {
	minor=$("$1" version --client -o json | sed -n 's/.*"minor": "\([0-9]*\).*/\1/p')
	[ "${minor:-0}" -ge 32 ] || return 1
	path=$(command -v "$1")
	case $path in /*) ;; *) path=$PWD/$path ;; esac
	mkdir -p "$tools"
	# Not its target: a snap's programs depend on the name of the link.
	[ "$path" -ef "$tools/kubectl" ] || ln -sf "$path" "$tools/kubectl"
	echo "taking: $path, 1.$minor"
}

if [ -n "${KUBECTL:-}" ]; then
	take "$KUBECTL" || { echo "KUBECTL=$KUBECTL is no kubectl of 1.32 or newer" >&2; exit 1; }
	exit
fi
[ ! -x "$tools/kubectl" ] || exit 0

if ! sh "$(dirname "$0")/newer.sh" forky "$tools/of-kubectl" kubectl; then
	if command -v kubectl >/dev/null && take kubectl; then exit; fi
	echo "There is no kubectl of 1.32 or newer here either: install one (on Ubuntu \`snap install kubectl --classic\`; others:" >&2
	echo "https://kubernetes.io/docs/tasks/tools), or name one in KUBECTL." >&2
	exit 1
fi
"$tools/of-kubectl/usr/bin/kubectl" version --client >/dev/null
mv "$tools/of-kubectl/usr/bin/kubectl" "$tools/kubectl"
rm -rf "$tools/of-kubectl"

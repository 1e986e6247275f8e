#!/bin/sh
# Fetches the kubectl that the tests use into $TARGET/tools. Debian 12's own is 1.20 and knows no `kubectl events`;
# a newer suite has what goes with the fake API server.
set -eu
tools=${TARGET:-${CARGO_TARGET_DIR:-target}}/tools
[ ! -x "$tools/kubectl" ] || exit 0
sh "$(dirname "$0")/newer.sh" forky "$tools/of-kubectl" kubectl
"$tools/of-kubectl/usr/bin/kubectl" version --client >/dev/null
mv "$tools/of-kubectl/usr/bin/kubectl" "$tools/kubectl"
rm -rf "$tools/of-kubectl"

#!/bin/sh
# Writes the plugin's archive for one platform: the program with its manual pages, licences and bill of materials.
#
#    plugin-archive.sh linux-amd64|linux-arm64|windows-amd64|windows-arm64|darwin-amd64|darwin-arm64 OUTPUT
#
# Linux and Windows on Linux; macOS (darwin) on macOS only, whose libraries no other system has. There GNU's tools come first in PATH.
set -eu
cd "$(dirname "$0")/.."
. deploy/programs.sh
output=$(realpath "$2") name=kubectl-why_terminating-$1
export WHY_TERMINATING_AGENT_IMAGE="${IMAGE_REPOSITORY:-$unpublished}/agent:$version"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
sh deploy/contents.sh plugin release "$1" "$work/$name"
install -m 644 LICENSE docs/man/kubectl-why_terminating*.1 "$work/$name"
packed "$work/$name" . "$output/$name.tar.gz"

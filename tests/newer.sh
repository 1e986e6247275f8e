#!/bin/sh
# Unpacks packages of a newer suite of Debian into a folder. apt checks the signatures as always, but with a source and
# lists of its own: nothing is installed, and what this machine installs from stays as it is.
#
#    newer.sh SUITE FOLDER PACKAGE...
set -eu
suite=$1
folder=$2
shift 2
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The mirror this machine installs from has the other suites too.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL) $(COMPONENT)' 'Created-By: Packages' |
	awk '$2 == "Debian" && $3 == "main" { print $1; exit }')
if [ -z "$mirror" ]; then
	echo "This machine installs from no Debian mirror: put $* of Debian $suite into $folder" >&2
	exit 1
fi
if [ ! -f "$keyring" ]; then
	echo "installing: debian-archive-keyring"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends debian-archive-keyring >/dev/null
fi

echo "fetching: $* from Debian $suite"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
chmod 755 "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/unpacked"
# apt downloads as this user.
install -d -o _apt "$work/packages"
echo "deb [signed-by=$keyring target=Packages] $mirror $suite main" >"$work/sources.list"
apt() {
	apt-get -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o Acquire::Languages=none \
		-o Acquire::Retries=3 -o APT::Update::Error-Mode=any "$@" >/dev/null
}
apt update
for package in "$@"; do (cd "$work/packages" && apt download "$package/$suite"); done
for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/unpacked"; done
# Whole or not at all.
rm -rf "$folder" "$folder.new"
mkdir -p "$(dirname "$folder")"
mv "$work/unpacked" "$folder.new"
mv "$folder.new" "$folder"

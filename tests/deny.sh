#!/bin/sh
# Licences, sources and second versions of what the project depends on, and advisories about it, by deny.toml.
# Installs cargo-deny below the target directory, unoptimised: three minutes on two cores.
set -eu
cd "$(dirname "$0")/.."

version=0.20.2
tools="${TARGET:-target}/tools"
deny="$tools/bin/cargo-deny"
if [ "$("$deny" --version 2>/dev/null)" != "cargo-deny $version" ]; then
	echo "installing: cargo-deny $version"
	"${CARGO:-cargo}" install -q --locked --debug --no-default-features --version "$version" --root "$tools" cargo-deny
fi

"$deny" check -D unmatched-skip licenses bans sources

# The advisories are a repository on github.com, which not every machine reaches.
if timeout 120 "$deny" -L off fetch db; then
	"$deny" check --hide-inclusion-graph advisories
elif [ "${ADVISORIES:-}" = required ]; then
	echo "The database of advisories cannot be fetched." >&2
	exit 1
else
	cat >&2 <<'TEXT'
***********************************************************************
** ADVISORIES WERE NOT CHECKED: their database cannot be fetched here.
** Where github.com is reached, run:  ADVISORIES=required make deny
***********************************************************************
TEXT
fi

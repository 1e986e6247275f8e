#!/bin/sh
# Dependencies that nothing uses; licences, sources and second versions of the others, and advisories about them, by
# deny.toml. Installs cargo-machete and cargo-deny below the target directory, unoptimised: four minutes on two cores.
set -eu
cd "$(dirname "$0")/.."

machete=$(sh tests/tool.sh cargo-machete 0.9.2 --debug --no-default-features)
deny=$(sh tests/tool.sh cargo-deny 0.20.2 --debug --no-default-features)

"$machete" --skip-target-dir
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

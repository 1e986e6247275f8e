#!/bin/sh
# Changes what judges (gates and causes) in COUNT places, one at a time, and says which changes no test notices.
#
# SEED draws them from all that cargo-mutants can think of: they are tried in the order of a hash of seed and change, so
# the first of them are a draw by themselves, and FIRST goes on where an earlier run ended. The tests are those of
# agent/core alone.
#
# Installs cargo-mutants below the target directory. The changes are made in a copy of the tree there, which keeps what
# it has built: some ten seconds each, on two cores that others use as well.
set -eu
cd "$(dirname "$0")/.."

seed=${SEED:-14}
first=${FIRST:-1}
count=${COUNT:-300}
version=27.1.0
target=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}")
tools=$target/tools
work=$target/mutants
cargo=${CARGO:-cargo}

if [ "$("$tools/bin/cargo-mutants" mutants --version 2>/dev/null)" != "cargo-mutants $version" ]; then
	echo "installing: cargo-mutants $version"
	"$cargo" install -q --locked --debug --version "$version" --root "$tools" cargo-mutants
fi

# Made anew and of now: a change that a killed run left behind must not stay, neither in the copy nor in what was built.
rm -rf "$work/tree"
mkdir -p "$work/tree"
git ls-files -z | tar --create --null --files-from=- | tar --extract --touch --directory="$work/tree"
cd "$work/tree"

export CARGO_TARGET_DIR="$work/build" CARGO_PROFILE_DEV_DEBUG=none CARGO_INCREMENTAL=1
set -- -p why-terminating-agent-core -f 'agent/core/src/gates/**' -f 'agent/core/src/causes/**' \
	-e 'agent/core/src/causes/words.rs'
"$tools/bin/cargo-mutants" mutants --list "$@" >"$work/all"
python3 - "$seed" "$first" "$count" "$work/all" >"$work/drawn" <<'DRAW'
import hashlib, re, sys
seed, first, count, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
changes = sorted(open(path).read().splitlines(), key=lambda change: hashlib.sha256(f"{seed} {change}".encode()).digest())
for change in changes[first - 1 : first - 1 + count]:
    print("^" + re.sub(r"([\\.+*?()|\[\]{}^$#&~])", r"\\\1", change) + "$")
DRAW
while IFS= read -r change; do set -- "$@" --re "$change"; done <"$work/drawn"
echo "$(wc -l <"$work/drawn") of $(wc -l <"$work/all") changes, from number $first on as seed $seed orders them"
# It ends with 2 or 3 when a change was not noticed.
"$tools/bin/cargo-mutants" mutants "$@" --in-place --no-shuffle --timeout 60 --output "$work" -- --tests

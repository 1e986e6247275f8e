#!/bin/sh
# Changes what judges (gates and causes) in COUNT places, one at a time, and says which changes no test notices.
#
# SEED draws them from all that cargo-mutants can think of: the first COUNT in the order of a hash of seed and change, so
# any first part is a draw by itself, and FIRST goes on where an earlier run ended. The tests are those of agent/core
# alone.
#
# Installs cargo-mutants below the target directory. The changes are made in a copy of the tree there, which keeps what
# it has built: some ten seconds each, on two cores that others use as well.
set -eu
cd "$(dirname "$0")/.."

seed=${SEED:-14}
first=${FIRST:-1}
count=${COUNT:-300}
target=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}")
work=$target/mutants

mutants=$(sh tests/tool.sh cargo-mutants 27.1.0 --debug)

# Made anew and of now: a change that a killed run left behind must not stay, neither in the copy nor in what was built.
rm -rf "$work/tree"
mkdir -p "$work/tree"
git ls-files -z | tar --create --null --files-from=- | tar --extract --touch --directory="$work/tree"
cd "$work/tree"

export CARGO_TARGET_DIR="$work/build" CARGO_PROFILE_DEV_DEBUG=none CARGO_INCREMENTAL=1
set -- -p why-terminating-agent-core -f 'agent/core/src/gates/**' -f 'agent/core/src/causes/**' \
	-e 'agent/core/src/causes/describe.rs'
"$mutants" mutants --list "$@" >"$work/all"
python3 - "$seed" "$first" "$count" "$work/all" "$work/drawn" "$work/only" <<'DRAW'
import collections, hashlib, re, sys
seed, first, count, path, drawn, only = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]

def place(change):
    file, line, column, words = re.fullmatch(r"(.+?):(\d+):(\d+): (.+)", change).groups()
    return file, int(line), int(column), words

# The line is no part of what is hashed: an edit above must not move a change. The how-many-eth in its file is, as two
# can have the same words.
same, key = collections.Counter(), {}
for change in sorted(open(path).read().splitlines(), key=place):
    file, _, _, words = place(change)
    same[file, words] += 1
    key[change] = hashlib.sha256(f"{seed} {file} {words} {same[file, words]}".encode()).digest()
changes = sorted(key, key=key.get)[first - 1 : first - 1 + count]
print(*changes, sep="\n", file=open(drawn, "w"))
expressions = (re.sub(r"([\\.+*?()|\[\]{}^$#&~])", r"\\\1", change) for change in changes)
print(*(f"^{expression}$" for expression in expressions), sep="\n", file=open(only, "w"))
DRAW
while IFS= read -r change; do set -- "$@" --re "$change"; done <"$work/only"
"$mutants" mutants --list "$@" | sort >"$work/selected"
sort "$work/drawn" | diff - "$work/selected" || { echo "these would not be tried as they were drawn" >&2; exit 1; }
echo "$(wc -l <"$work/drawn") of $(wc -l <"$work/all") changes, from number $first on as seed $seed orders them"
# It ends with 2 or 3 when a change was not noticed.
"$mutants" mutants "$@" --in-place --no-shuffle --timeout 60 --output "$work" -- --tests

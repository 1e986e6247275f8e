#!/bin/sh
# Fuzzes: each named target, or each whose parser has changed since a commit, for so many seconds.
#
#   tests/fuzz/run.sh SECONDS TARGET...
#   tests/fuzz/run.sh SECONDS --changed-since COMMIT
#
# Needs no cargo-fuzz and no nightly compiler: coverage is a pass of LLVM, and what is fuzzed has no `unsafe` that a
# sanitizer would watch. What is found stays in artifacts/, what was learnt in corpus/.
set -eu
cd "$(dirname "$0")"
seconds=$1
shift

# Whether what a target names in its line `// Fuzzes:`, or the target itself, has changed.
changed() {
	paths=$(sed -n 's|^// Fuzzes: ||p' "targets/$1.rs")
	for path in ${paths:-"(nothing)"}; do
		[ -e "../../$path" ] || { echo "targets/$1.rs: fuzzes $path, which is not there" >&2; exit 1; }
	done
	# shellcheck disable=SC2086 # a list
	! (cd ../.. && git diff --quiet "$2" -- "tests/fuzz/targets/$1.rs" $paths)
}

if [ "${1-}" = --changed-since ]; then
	commit=$2
	git cat-file -e "$commit^{commit}"
	set --
	for target in targets/*.rs; do
		target=$(basename "$target" .rs)
		if changed "$target" "$commit"; then set -- "$@" "$target"; fi
	done
	[ $# -gt 0 ] || { echo "fuzz: nothing that is fuzzed has changed since $commit"; exit 0; }
	# All of them together five minutes at most.
	if [ $((seconds * $#)) -gt 300 ]; then seconds=$((300 / $#)); fi
fi

features=
bins=
for target; do
	bins="$bins --bin $target"
	if [ "$target" = kubeconfig ]; then features='--features kubeconfig'; fi
done
coverage='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4'
coverage="$coverage -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
coverage="$coverage -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')
# With a target named, what runs while compiling is not instrumented.
# shellcheck disable=SC2086 # lists
RUSTFLAGS="$coverage" cargo build -q --release --target "$host" --target-dir target $features $bins

for target; do
	mkdir -p "corpus/$target" artifacts
	echo "fuzz: $target for $seconds s"
	"target/$host/release/$target" "corpus/$target" "seeds/$target" -max_total_time="$seconds" \
		-artifact_prefix="artifacts/$target-" -print_final_stats=1 2>"artifacts/$target.log" ||
		{ tail -n 40 "artifacts/$target.log"; exit 1; }
	sed -n 's/^stat::number_of_executed_units: */fuzz:   inputs: /p' "artifacts/$target.log"
done

#!/bin/sh
# How much of the judgement its tests run, by line. Names each file of which they run less than they should, with the
# lines that nothing ran; fails where they run too little of the whole.
#
# What judges are the five crates that cannot read or write. The tests are theirs and those of the plugin, which asks
# them through a fake API server; of the files that are counted, tests at their end are not.
#
# Installs cargo-llvm-cov below the target directory, and builds in a directory of its own there, which `cargo llvm-cov
# clean --workspace` empties. It needs the llvm-cov of the compiler's LLVM: rustup's, Debian's, or what LLVM_COV and
# LLVM_PROFDATA name.
set -eu
cd "$(dirname "$0")/.."

least=95
target=${TARGET:-${CARGO_TARGET_DIR:-target}}
rustc=${RUSTC:-rustc}

major=$("$rustc" -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
if [ -z "${LLVM_COV-}${LLVM_PROFDATA-}" ] && [ -z "$(find "$("$rustc" --print sysroot)/lib/rustlib" -name llvm-cov)" ]; then
	LLVM_COV=$(command -v "llvm-cov-$major") && LLVM_PROFDATA=$(command -v "llvm-profdata-$major") || {
		cat >&2 <<-TEXT
			There is no llvm-cov of LLVM $major, which $rustc is made of. One of these has it:
			  rustup component add llvm-tools
			  apt-get install llvm-$major     where the distribution has it
			or name programs in LLVM_COV and LLVM_PROFDATA.
		TEXT
		exit 1
	}
	export LLVM_COV LLVM_PROFDATA
fi

"$(sh tests/tool.sh cargo-llvm-cov 0.9.1 --debug)" llvm-cov --lcov --output-path "$target/coverage.info" -p why-terminating-findings \
	-p why-terminating-agent-core -p why-terminating-agent-reconcile -p why-terminating-aggregator-core \
	-p kubectl-why-terminating

awk -v root="$PWD/" -v least="$least" '
	# The line at which the tests of a file begin.
	function tests_of(path,    line, number, marked) {
		for (number = 1; (getline line <path) > 0; number++) {
			if (marked && line ~ /^(pub[^ ]* )?mod [a-z_]+ \{/) break
			marked = line == "#[cfg(test)]"
		}
		close(path)
		return number
	}
	function share(some, all) { return all ? 100 * some / all : 100 }

	/^SF:/ {
		path = substr($0, 4)
		name = index(path, root) == 1 ? substr(path, length(root) + 1) : path
		crate = name
		judges = sub(/\/src\/.*/, "", crate) && crate ~ /^(findings|agent\/core|agent\/reconcile|aggregator\/core|aggregator\/service)$/ &&
			name !~ /\/tests(\.rs$|\/)/
		if (judges) { tests = tests_of(path); files[++count] = name; crates[crate] = 1 }
	}
	/^DA:/ && judges {
		split(substr($0, 4), it, ",")
		if (it[1] + 0 >= tests) next
		all[name]++; all[crate]++; all[""]++
		if (it[2] > 0) { run[name]++; run[crate]++; run[""]++ }
		else lines[name] = lines[name] " " it[1]
	}
	END {
		for (i = 1; i <= count; i++) {
			name = files[i]
			if (share(run[name], all[name]) < least)
				printf "%5.1f %%  %s, without%s\n", share(run[name], all[name]), name, lines[name]
		}
		for (crate in crates) printf "%5.1f %%  of %s\n", share(run[crate], all[crate]), crate | "sort -k3"
		close("sort -k3")
		printf "%5.1f %%  of the %d lines that judge\n", share(run[""], all[""]), all[""]
		if (!all[""] || share(run[""], all[""]) < least) { printf "less than %d %%\n", least | "cat >&2"; exit 1 }
	}' "$target/coverage.info"

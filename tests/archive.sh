#!/bin/sh
# Runs the plugin as it lies in the archives of a release, each of which needs nothing beside it: of the same recorded
# clusters it must say what the one that is built here says, to the byte. Those for arm64 run under qemu-user, those for
# Windows under wine, which is no Windows: console, certificates and the files of a home are not those of one.
#
#    archive.sh [ARCHIVE...]      all of target/release-files, otherwise
#
# Says which archives nothing here runs, and fails where another can not be run. QEMU and WINE name other programs (Debian: qemu-user-static; wine, wine64). A
# wine without the library that random numbers come from is given one, by x86_64-w64-mingw32-gcc (Debian:
# gcc-mingw-w64-x86-64).
set -eu
cd "$(dirname "$0")/.."
target=${TARGET:-${CARGO_TARGET_DIR:-target}}
own=$target/debug
[ $# -gt 0 ] || set -- "$target"/release-files/kubectl-why_terminating-*.tar.gz

work=$(mktemp -d)
running=
finish() {
	kill $running 2>/dev/null || true
	[ ! -d "$work/wine" ] || "${WINE:-wine}server" -k || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
export WINEPREFIX="$work/wine" WINEDEBUG=-all

. tests/until_there.sh

# What this machine's own and that of the archive say, and how they end.
same() { # argument...
	status=0
	"$own/kubectl-why_terminating" "$@" >"$work/own" 2>&1 || status=$?
	# 2 says that something is stuck, 4 that nothing is in what was scanned.
	case $status in 0 | 2 | 4) ;; *) cat "$work/own" >&2; echo "$* fails" >&2; exit 1 ;; esac
	echo "exit status $status" >>"$work/own"
	status=0
	$emulator "$work/$platform/$program" "$@" >"$work/other" 2>&1 || status=$?
	echo "exit status $status" >>"$work/other"
	diff -u "$work/own" "$work/other" || { echo "$*: another answer for $platform" >&2; exit 1; }
}

# Rust's library asks bcryptprimitives.dll for random numbers, which Wine 8 does not have. This one asks what Wine has.
random() { # directory of the program
	# A first run makes wine's directory, and speaks of it.
	$emulator cmd /c exit >"$work/log" 2>&1 || { cat "$work/log" >&2; echo "$emulator does not start" >&2; exit 1; }
	[ ! -e "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" ] || return 0
	cat >"$work/random.c" <<'C'
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T length)
{
	return RtlGenRandom(to, length);
}
C
	x86_64-w64-mingw32-gcc -shared -Wall -Werror -o "$1/bcryptprimitives.dll" "$work/random.c" -ladvapi32
	echo "$emulator has no bcryptprimitives.dll: the plugin runs with one made here"
}

for archive in "$@"; do
	platform=${archive##*kubectl-why_terminating-}
	platform=${platform%.tar.gz}
	program=kubectl-why_terminating
	complete=kubectl_complete-why_terminating
	case $platform in
	linux-amd64) emulator= ;;
	linux-arm64) emulator=${QEMU:-qemu-aarch64-static} ;;
	windows-amd64) emulator=${WINE:-wine} program=$program.exe complete=$complete.exe ;;
	windows-arm64 | darwin-*)
		echo "$(basename "$archive"): NOT run, nothing here runs it"
		continue
		;;
	*) echo "nothing here runs $platform" >&2; exit 1 ;;
	esac
	mkdir "$work/$platform"
	tar -C "$work/$platform" -xzf "$archive"

	for page in docs/man/kubectl-why_terminating*.1; do
		cmp "$page" "$work/$platform/$(basename "$page")"
	done
	case $platform in windows-*) random "$work/$platform" ;; esac
	same --version
	same --help
	same version --client
	same causes
	for shell in bash zsh fish powershell; do same completion $shell; done
	# As kubectl asks it.
	ln -s $program "$work/$platform/$complete"
	offered=$($emulator "$work/$platform/$complete" causes NodeUnreach)
	[ "$offered" = "$(printf 'NodeUnreachable\tThe node is silent\n:4')" ] || { echo "$complete offers $offered" >&2; exit 1; }

	count=0
	for index in tests/recordings/*/index.json; do
		recording=$(basename "$(dirname "$index")")
		rm -f "$work/kubeconfig"
		"$own/apiserver" --recording "$recording" --kubeconfig "$work/kubeconfig" >/dev/null &
		running=$!
		until_there "$work/kubeconfig"
		export KUBECONFIG="$work/kubeconfig"
		same version
		for form in tree json table; do same -A -o $form; done
		$emulator "$work/$platform/$program" -A -o name --save-state "$work/state.json" >/dev/null 2>&1 || case $? in 2 | 4) ;; *) exit 1 ;; esac
		unset KUBECONFIG
		kill $running
		same judge "$work/state.json" -o wide
		rm "$work/state.json"
		count=$((count + 1))
	done
	echo "$(basename "$archive"): it starts, completes, and explains $count recorded clusters as here"
done

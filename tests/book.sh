#!/bin/sh
# Builds the documents as a book into $TARGET/book and follows every link of the pages that come out. Debian 12 has no
# mdbook, and that of 13 wants a newer C library: it is run with the one that comes with it.
set -eu
cd "$(dirname "$0")/.."
target=$(realpath -m "${TARGET:-${CARGO_TARGET_DIR:-target}}")
if ! mdbook=$(command -v mdbook); then
	unpacked=$target/tools/mdbook
	[ -x "$unpacked/usr/bin/mdbook" ] || sh tests/newer.sh trixie "$unpacked" mdbook libc6 libgcc-s1
	libraries=$(dirname "$(ls "$unpacked"/usr/lib/*/libc.so.6)")
	set -- "$(ls "$libraries"/ld-linux-*)" --library-path "$libraries"
	mdbook=$unpacked/usr/bin/mdbook
fi
rm -rf "$target/book"
# Without a log: it tells of its steps, and what is wrong.
"$@" "$mdbook" build --dest-dir "$target/book"
python3 tests/book.py "$target/book"

#!/bin/sh
# Builds the documents as a book into $TARGET/book, and follows every link and anchor within the repository: of the Markdown
# as a forge shows it, and of the book. Debian 12 has no mdbook, and that of 13 wants a newer C library: it is run with the
# one that comes with it.
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
# It prints its steps and what is wrong.
"$@" "$mdbook" build --dest-dir "$target/book"
for page in $(cd docs && git ls-files '*.md' ':!SUMMARY.md' ':!evidence'); do
	[ -f "$target/book/${page%.md}.html" ] || { echo "docs/SUMMARY.md does not list $page" >&2; exit 1; }
done
lychee=$(dirname "$(sh tests/chart/python.sh)")/lychee
git ls-files -z '*.md' | xargs -0 "$lychee" -q --offline --include-fragments
# print.html has all pages once more, 404.html stands anywhere, and Debian's theme has no fonts.
"$lychee" -q --offline --include-fragments --exclude-path print.html --exclude-path 404.html --exclude 'fonts\.css$' \
	"$target/book"

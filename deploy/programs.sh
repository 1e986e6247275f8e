# Names of programs and machines, and the size limit; to be sourced.
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)

# Nothing is published yet: this host never resolves, so no image of another author can run with the agent's rights.
unpublished=why-terminating.invalid

programs() {
	case $1 in all) echo agent aggregator plugin ;; *) echo "$1" ;; esac
}

binary() {
	case $1 in
	agent | aggregator) echo "why-terminating-$1" ;;
	plugin) echo kubectl-why_terminating ;;
	*) echo "no program is called $1: agent, aggregator, plugin" >&2; return 1 ;;
	esac
}

# Cargo's name of a machine, from that of uname or of images.
triple() {
	case $1 in
	x86_64 | amd64 | linux-amd64) echo x86_64-unknown-linux-gnu ;;
	aarch64 | arm64 | linux-arm64) echo aarch64-unknown-linux-gnu ;;
	windows-amd64) echo x86_64-pc-windows-gnu ;;
	windows-arm64) echo aarch64-pc-windows-gnullvm ;;
	darwin-amd64) echo x86_64-apple-darwin ;;
	darwin-arm64) echo aarch64-apple-darwin ;;
	*) echo "no static build is known for $1" >&2; return 1 ;;
	esac
}

# The same files give the same archive.
packed() { # FOLDER WHAT ARCHIVE
	tar -C "$1" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -cf - "$2" |
		gzip -9n >"$3"
}

# The limit for a release program, and for all files of its image: every node pulls it.
max_bytes=$((12 << 20))
weigh() { # file...
	bytes=$(cat "$@" | wc -c)
	[ "$bytes" -le $max_bytes ] || { echo "$*: $bytes bytes, more than the limit of $max_bytes" >&2; return 1; }
}

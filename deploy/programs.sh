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
	x86_64 | amd64) echo x86_64-unknown-linux-gnu ;;
	aarch64 | arm64) echo aarch64-unknown-linux-gnu ;;
	*) echo "no static build is known for $1" >&2; return 1 ;;
	esac
}

# The limit for a release program, and for all files of its image: every node pulls it.
max_bytes=$((12 << 20))
weigh() { # file...
	bytes=$(cat "$@" | wc -c)
	[ "$bytes" -le $max_bytes ] || { echo "$*: $bytes bytes, more than the limit of $max_bytes" >&2; return 1; }
}

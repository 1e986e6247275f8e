# Waits for a file that another program writes; read by archive.sh and arm64.sh.
until_there() { # file
	tries=0
	until [ -s "$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { echo "$1 does not come" >&2; exit 1; }
		sleep 0.1
	done
}

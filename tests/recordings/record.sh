#!/bin/sh
# Saves what the API server of the current kubeconfig answers as the recording NAME: discovery in both forms, and
# every list that is not empty. It only reads, and leaves Secrets out. Needs kubectl, curl and jq.
# What is saved names whatever is in the cluster: read it, and take out what is nobody's business.
set -eu
name=${1:?usage: record.sh NAME}
here=$(cd "$(dirname "$0")" && pwd)
into=$here/$name
[ ! -e "$into" ] || { echo "$into is already there" >&2; exit 1; }
mkdir "$into"

: >"$into/proxy"
kubectl proxy --port=0 >"$into/proxy" &
proxy=$!
trap 'kill "$proxy"' EXIT
until grep -q Starting "$into/proxy"; do sleep 0.1; done
server=http://$(sed 's/.* //' "$into/proxy")
rm "$into/proxy"

PLAIN=application/json
AGGREGATED='application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

# save PATH ACCEPT FILE: keeps the answer, and says of it what index.json holds.
save() {
	said=$(curl -s -H "Accept: $2" -o "$into/$3" -w '%{http_code} %{content_type}' "$server$1")
	case $said in 200*) pretty "$into/$3" ;; esac
	jq -cn --arg path "$1" --arg accept "$2" --arg said "$said" --arg file "$3" '{path: $path, accept: $accept,
		status: ($said | split(" ")[0] | tonumber), contentType: ($said | sub("^[0-9]+ "; "")), file: $file}' \
		>>"$into/lines"
}

pretty() {
	jq --indent 1 . "$1" >"$1.pretty"
	mv "$1.pretty" "$1"
}

file() {
	echo "$1" | sed 's|^/||; s|/|_|g'
}

save /version "$PLAIN" version.json
for root in /api /apis; do
	save "$root" "$AGGREGATED,$PLAIN" "$(file "$root").aggregated.json"
	save "$root" "$PLAIN" "$(file "$root").json"
done
for group in /api/v1 $(jq -r '.groups[].versions[] | "/apis/" + .groupVersion' "$into/apis.json"); do
	save "$group" "$PLAIN" "$(file "$group").json"
	for plural in $(jq -r '.resources[]? | select(.verbs | index("list")) | .name' "$into/$(file "$group").json"); do
		[ "$plural" != secrets ] || continue
		list=$(file "$group/$plural").json
		save "$group/$plural" "$PLAIN" "$list"
		if jq -e '.items == []' "$into/$list" >/dev/null 2>&1; then
			rm "$into/$list"
			sed -i '$d' "$into/lines"
		fi
	done
done
jq -s --indent 1 . "$into/lines" >"$into/index.json"
rm "$into/lines"
echo "$into: $(jq length "$into/index.json") answers"

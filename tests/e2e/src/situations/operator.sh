# A small operator: puts its finalizer on each Gadget, and takes it off once the Gadget is cleaned up after.
columns='{range .items[*]}{.metadata.namespace} {.metadata.name} {.metadata.finalizers} {.metadata.deletionTimestamp}{"\n"}{end}'
finalizers() { # NAMESPACE NAME JSON
	kubectl patch gadgets.op.e2e.example.com "$2" -n "$1" --field-manager=gadget-operator --type=merge \
		-p "{\"metadata\":{\"finalizers\":$3}}"
}
trap 'exit 0' TERM
while :; do
	kubectl get gadgets.op.e2e.example.com -A -o jsonpath="$columns" | while read -r namespace name rest; do
		case "$rest" in
		*cleanup*20*) sleep 2 && finalizers "$namespace" "$name" null ;;
		*cleanup*) ;;
		*) finalizers "$namespace" "$name" '["op.e2e.example.com/cleanup"]' ;;
		esac
	done
	sleep 1 &
	wait $!
done

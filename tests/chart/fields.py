"""Whether every field is one that Kubernetes has, by the types of its own Python client, which are made from its API."""

from kubernetes import client

API = client.ApiClient()
# Kinds of operators, which it does not know: `make e2e` has a server check them, where it has them.
UNKNOWN = {"HTTPRoute", "PodMonitor", "PrometheusRule", "SecurityContextConstraints", "ServiceMonitor"}


def lost_in(ours, taken, path):
    """What of it is not there, or is another."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            known = isinstance(taken, dict) and key in taken
            yield from lost_in(value, taken[key], f"{path}.{key}") if known else [f"{path}.{key}"]
    elif isinstance(ours, list):
        if len(ours) != len(taken):
            yield path
        for at, (value, other) in enumerate(zip(ours, taken)):
            yield from lost_in(value, other, f"{path}[{at}]")
    elif ours != taken:
        yield path


def check_fields(it):
    if it["kind"] in UNKNOWN:
        return
    version = it["apiVersion"].rpartition("/")[2]
    model = version.capitalize() + it["kind"]
    assert hasattr(client, model), f"Kubernetes has no {it['kind']} in {it['apiVersion']}"
    name = f"{it['kind']} {it['metadata']['name']}"
    try:
        # As it reads an answer; what a type asks for and is not there is a ValueError.
        read = API._ApiClient__deserialize(it, model)
    except ValueError as error:
        raise AssertionError(f"{name}: {error}") from error
    lost = list(lost_in(it, API.sanitize_for_serialization(read), name))
    assert not lost, f"Kubernetes does not know {lost}"

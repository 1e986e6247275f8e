"""Applies what each set of values and each kustomization of deploy/ makes to the fake API server, with the real kubectl, and
reads it back.

    applied.py KUBECTL APISERVER

The fake has no schemas, so what it takes has a kind that Kubernetes 1.36 serves, in the group, version and scope that it
serves it in. fields.py has looked at the fields before; `make e2e` has a real server check their values too.
"""

import contextlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import yaml
from chart import NAME, ROOT, SETS, objects, render
from fields import lost_in
from kustomized import KUSTOMIZATIONS, kustomize

RECORDING = ROOT / "tests/recordings/baseline"
# What a cluster has that has these operators: group, version, plural, kind, whether in a namespace.
OPERATORS = [
    ("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", True),
    ("monitoring.coreos.com", "v1", "podmonitors", "PodMonitor", True),
    ("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor", True),
    ("monitoring.coreos.com", "v1", "prometheusrules", "PrometheusRule", True),
    ("security.openshift.io", "v1", "securitycontextconstraints", "SecurityContextConstraints", False),
]
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def recording(folder):
    """The recording of a real server, whose discovery has the operators' kinds too."""
    # That server was built by hand and has no version that Helm can compare; the fake has one.
    index = [it for it in json.loads((RECORDING / "index.json").read_text()) if it["path"] != "/version"]
    for entry in index:
        entry["file"] = str(RECORDING / entry["file"])
    [aggregated] = [it for it in index if it["path"] == "/apis" and "APIGroupDiscoveryList" in it["accept"]]
    groups = json.loads(pathlib.Path(aggregated["file"]).read_text())
    for group, version in dict.fromkeys((group, version) for group, version, *_ in OPERATORS):
        kinds = [it[2:] for it in OPERATORS if it[0] == group]
        named = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}", "resources": [
            {"name": plural, "kind": kind, "namespaced": namespaced, "verbs": VERBS} for plural, kind, namespaced in kinds
        ]}
        resources = [{
            "resource": plural, "singularResource": kind.lower(), "verbs": VERBS,
            "scope": "Namespaced" if namespaced else "Cluster",
            "responseKind": {"group": group, "version": version, "kind": kind},
        } for plural, kind, namespaced in kinds]
        versions = [{"version": version, "resources": resources, "freshness": "Current"}]
        groups["items"].append({"metadata": {"name": group}, "versions": versions})
        file = folder / f"{group}.json"
        file.write_text(json.dumps(named))
        plain = {"accept": "application/json", "status": 200, "contentType": "application/json"}
        index.append({"path": f"/apis/{group}/{version}", **plain, "file": str(file)})
    aggregated["file"] = str(folder / "apis.aggregated.json")
    pathlib.Path(aggregated["file"]).write_text(json.dumps(groups))
    (folder / "index.json").write_text(json.dumps(index))
    return folder


@contextlib.contextmanager
def cluster(kubectl, apiserver):
    """How to call kubectl with a fake of its own."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        config = folder / "kubeconfig"
        fake = subprocess.Popen(
            [apiserver, "--recording", recording(folder), "--kubeconfig", config], stdout=subprocess.DEVNULL
        )
        try:
            deadline = time.monotonic() + 20
            while not config.exists():
                assert fake.poll() is None and time.monotonic() < deadline, "the fake API server does not start"
                time.sleep(0.02)
            # What it has found of an API it keeps for hours, by address, and the next fake may have the same.
            yield [kubectl, "--kubeconfig", config, "--cache-dir", folder / "cache"]
        finally:
            fake.terminate()
            fake.wait(10)


def said(command, what, manifest):
    ended = subprocess.run([*command, "-f", "-"], input=yaml.safe_dump_all(manifest), capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"{what}: {ended.stderr.strip()}")
    return ended.stdout


def apply(kubectl, what, made):
    """All of it is taken, and stands there as it was given."""
    lines = said([*kubectl, "apply", "--server-side", "--validate=false"], what, made).splitlines()
    assert len(lines) == len(made) and all(it.endswith(" serverside-applied") for it in lines), (what, lines)
    there = json.loads(said([*kubectl, "get", "-o", "json"], what, made))["items"]
    assert len(there) == len(made), (what, len(there))
    for given, stored in zip(made, there):
        lost = list(lost_in(given, stored, f"{given['kind']} {given['metadata']['name']}"))
        assert not lost and stored["metadata"]["uid"], f"{what}: not there as it was given: {lost}"


# The fake has no schemas to validate by, and reads JSON alone.
TYPED = """
kubectl() {
	case " $* " in
		*" create "*) KUBECTL "$@" --dry-run=client -o json | KUBECTL create --validate=false -f - ;;
		*" apply "*) KUBECTL "$@" --validate=false ;;
		*) KUBECTL "$@" ;;
	esac
}
NAMESPACE=default ACCOUNT=sees
set -e
"""


def check_account(command):
    """What docs/service.md says to type, so that an account sees on the page what the plugin reads."""
    text = (ROOT / "docs/service.md").read_text()
    [typed] = re.findall(r"^```sh\n(kubectl get clusterrole .*?)^```", text, re.M | re.S)
    typed = typed.replace("NAMESPACE", "$NAMESPACE").replace("ACCOUNT", "$ACCOUNT")
    script = TYPED.replace("KUBECTL", shlex.join(map(str, command))) + typed
    ended = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    asked = [*command, "get", "-o", "json", "clusterrolebinding/sees-sees-what-is-stuck"]
    binding = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    assert [it["name"] for it in binding["subjects"]] == ["sees"], binding
    subprocess.run([*command, "get", "clusterrole", binding["roleRef"]["name"]], check=True, stdout=subprocess.DEVNULL)


def main(kubectl, apiserver):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}
    taken = 0
    for name, (values, _) in SETS.items():
        with cluster(kubectl, apiserver) as command:
            made = objects(render(values))
            if all(it["kind"] != "Namespace" for it in made):
                apply(command, name, [namespace])
            apply(command, name, made)
            taken += len(made)
    for folder in KUSTOMIZATIONS:
        with cluster(kubectl, apiserver) as command:
            made = kustomize(kubectl, folder)
            apply(command, folder, made)
            taken += len(made)
    with cluster(kubectl, apiserver) as command:
        check_account(command)
    print(f"applied: {len(SETS)} sets of values and {len(KUSTOMIZATIONS)} kustomizations, {taken} objects taken and read back")


if __name__ == "__main__":
    main(*sys.argv[1:])

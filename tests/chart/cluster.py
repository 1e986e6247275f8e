"""Puts the chart on the cluster of KUBECONFIG with kubectl and with Helm 4's library, and takes it away again.

    cluster.py install      every set of values and every kustomization by server-side dry run; what kubectl alone installs;
                            Helm's install, upgrade, `helm test`, the policies
    cluster.py counters     lets the agent read the kubelet's counters
    cluster.py uninstall    and nothing is left
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import yaml
from chart import CHART, NAME, ROOT, SETS, objects, render
from helm_python import Chart, Config
from kustomized import KUSTOMIZATIONS, kustomize
from upgrade import CHANGED, previous_chart

WAIT = {"wait": "watcher", "timeout": 180}


def kubectl(*arguments, manifest=None, kubeconfig=None, check=True):
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)} if kubeconfig else None
    text = None if manifest is None else yaml.safe_dump_all(manifest if isinstance(manifest, list) else [manifest])
    ended = subprocess.run(["kubectl", *arguments], input=text, env=environment, capture_output=True, text=True)
    if check and ended.returncode:
        sys.exit(f"kubectl {' '.join(arguments)}: {ended.stderr.strip()}")
    return ended


def read(*arguments):
    return json.loads(kubectl(*arguments, "-o", "json").stdout)


def server_version():
    return json.loads(kubectl("version", "-o", "json").stdout)["serverVersion"]["gitVersion"]


def is_newer(version, than):
    numbers = (tuple(map(int, re.findall(r"\d+", it)[:2])) for it in (version, than))
    return next(numbers) > next(numbers)


def until(what, seconds, holds):
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not within {seconds} s")
        time.sleep(1)
    return found


def dry_runs():
    """The API server takes everything that any set of values and any kustomization makes, as far as it serves the kind."""
    served, passed_over, server = {}, set(), server_version()
    for name, (values, _) in SETS.items():
        if is_newer(values.get("kubeVersion", server), than=server):
            print(f"dry run: {name}: is for {values['kubeVersion']}, and this is {server}")
            continue
        passed_over |= dry_run(name, objects(render({"kubeVersion": server, **values})), served)
    for folder, values in KUSTOMIZATIONS.items():
        if is_newer("1.30", than=server) and is_newer(values["kubeVersion"], than="1.29"):
            print(f"dry run: {folder}: has policies, and this is {server}")
            continue
        passed_over |= dry_run(folder, kustomize("kubectl", folder), served)
    print(f"dry run: this server has no {', '.join(sorted(passed_over))}")


def dry_run(name, made, served):
    """Returns the kinds that this server does not know; it is asked once for each version of a group."""
    for version in {it["apiVersion"] for it in made} - set(served):
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        served[version] = kubectl("get", "--raw", path, check=False).returncode == 0
    taken = [it for it in made if served[it["apiVersion"]]]
    for pod in (it for it in taken if it["kind"] == "Pod"):
        # A dry run makes no account for it, and the server looks for one.
        del pod["spec"]["serviceAccountName"]
    said = kubectl("apply", "--dry-run=server", "-f", "-", manifest=taken)
    assert len(said.stdout.splitlines()) == len(taken), said.stdout
    print(f"dry run: {name}: {len(taken)} objects{f'; {said.stderr.strip()}' if said.stderr else ''}")
    return {it["kind"] for it in made if not served[it["apiVersion"]]}


def selectors():
    """What must not change: names, and who belongs to what."""
    found = {}
    for kind in ("daemonset", "deployment", "service", "poddisruptionbudget", "networkpolicy"):
        for it in read("get", kind, "-n", NAME)["items"]:
            selector = it["spec"].get("selector") or it["spec"]["podSelector"]
            found[kind, it["metadata"]["name"]] = selector
    return found


def helm_test(config):
    if "KUBE_ASSETS" in os.environ:
        # No kube-proxy runs there.
        subprocess.run([ROOT / "tests/e2e/cluster.sh", "service", NAME, f"{NAME}-aggregator"], check=True)
    begin = time.monotonic()
    # It fails when the test does. The log of a pod that it has let go is not to be had.
    config.test(NAME, timeout=180)
    print(f"helm test: passed within {time.monotonic() - begin:.0f} s")
    let_go_by_hand()
    for kind in ("pod", "role", "rolebinding", "serviceaccount"):
        left = kubectl("get", kind, "-n", NAME, "-l", "app.kubernetes.io/component in (test, test-held)", "-o", "name")
        assert not left.stdout, f"left by the test: {left.stdout}"


def let_go_by_hand():
    """What deploy/README.md says to type after a test that was killed."""
    name = f"{NAME}-test-held"
    container = {"name": "a", "image": "none.invalid/a"}
    spec = {"nodeSelector": {"kubernetes.io/hostname": "none"}, "containers": [container]}
    metadata = {"name": name, "namespace": NAME, "finalizers": ["why-terminating/helm-test"]}
    kubectl("create", "-f", "-", manifest={"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    kubectl("-n", NAME, "delete", "pod", name, "--wait=false")
    kubectl("-n", NAME, "get", "pod", name)
    command = re.search(rf"^kubectl (.* patch pod {name} .*)$", (ROOT / "deploy/README.md").read_text(), re.M)
    kubectl(*shlex.split(command[1]))
    until("the pod of a test that was killed is gone", 30, lambda: kubectl("-n", NAME, "get", "pod", name, check=False).returncode)


def as_account(component, folder):
    """A kubeconfig with the token of a running pod of ours, and the node that the token names."""
    label = f"app.kubernetes.io/component={component}"
    pod = next(it for it in read("get", "pods", "-n", NAME, "-l", label)["items"] if "nodeName" in it["spec"])
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    bound = ["--bound-object-kind=Pod", f"--bound-object-name={name}", f"--bound-object-uid={uid}"]
    token = kubectl("create", "token", f"{NAME}-{component}", "-n", NAME, *bound).stdout.strip()
    config = json.loads(kubectl("config", "view", "--raw", "--minify", "-o", "json").stdout)
    for user in config["users"]:
        user["user"] = {"token": token}
    file = pathlib.Path(folder) / component
    file.write_text(json.dumps(config))
    return file, pod["spec"]["nodeName"]


def event(reporter, instance, kind, name):
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"why-terminating-tried-{time.monotonic_ns()}", "namespace": "default"},
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        "reportingController": f"why-terminating/{reporter}",
        "reportingInstance": instance,
        "action": "Tried",
        "reason": "Tried",
        "type": "Normal",
        "note": "tried",
        "regarding": {"apiVersion": "v1", "kind": kind, "name": name},
    }


def policies():
    """Only the agent of a node speaks of that node, and only the service as the service."""
    if is_newer("1.32", than=server_version()):
        print("policies: the chart makes none before Kubernetes 1.32")
        return
    with tempfile.TemporaryDirectory() as folder:
        agent, node = as_account("agent", folder)
        service, _ = as_account("aggregator", folder)
        tried = [
            (None, event("agent", node, "Node", node), "only the why-terminating agent can write Events"),
            (agent, event("agent", node, "Node", node), None),
            (agent, event("agent", node, "Node", "another"), "an agent speaks only of its own node"),
            (agent, event("agent", "another", "Node", node), "an agent speaks only as its own node"),
            (service, event("agent", node, "Node", node), "only the why-terminating agent can write Events"),
            (None, event("aggregator", "x", "Namespace", "default"), "only the why-terminating service can write Events"),
            (agent, event("aggregator", "x", "Namespace", "default"), "only the why-terminating service can write Events"),
            (service, event("aggregator", "x", "Namespace", "default"), None),
            (service, event("aggregator", "x", "Node", node), "speaks only of Namespaces"),
        ]
        for kubeconfig, manifest, refusal in tried:
            said = kubectl("create", "-f", "-", manifest=manifest, kubeconfig=kubeconfig, check=False)
            right = refusal in said.stderr if refusal else said.returncode == 0
            assert right, f"{kubeconfig} {manifest}: {said.returncode} {said.stderr}, not {refusal}"
            if not refusal:
                kubectl("delete", "event", manifest["metadata"]["name"], "-n", "default")
    print(f"policies: {len(tried)} Events tried")


def pod_security():
    """What deploy/README.md says of the levels: the service keeps to `restricted`, the agent needs `privileged`."""
    made = objects(render({"kubeVersion": server_version()}))
    for level, refused in {"restricted": {"agent"}, "baseline": {"agent"}}.items():
        namespace = f"{NAME}-{level}"
        kubectl("create", "namespace", namespace)
        kubectl("label", "namespace", namespace, f"pod-security.kubernetes.io/enforce={level}")
        until("the default account", 30, lambda: not kubectl("get", "sa", "default", "-n", namespace, check=False).returncode)
        for it in made:
            if it["kind"] not in ("DaemonSet", "Deployment", "Pod"):
                continue
            template = it if it["kind"] == "Pod" else it["spec"]["template"]
            left_out = {"priorityClassName", "serviceAccountName"}
            spec = {key: value for key, value in template["spec"].items() if key not in left_out}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried", "namespace": namespace}, "spec": spec}
            said = kubectl("create", "--dry-run=server", "-f", "-", manifest=pod, check=False)
            is_refused = f'violates PodSecurity "{level}' in said.stderr
            component = template["metadata"]["labels"]["app.kubernetes.io/component"]
            assert is_refused == (component in refused) and (is_refused or not said.returncode), (level, component, said.stderr)
        kubectl("delete", "namespace", namespace, "--wait=false")
    print("pod security: the agent is refused at `baseline`; the service and the test are taken at `restricted`")


def with_kubectl():
    """What the README says: put there, running, and taken away again."""
    before = "" if is_newer(server_version(), than="1.29") else "-before-1.30"
    folders = [f"deploy{before.replace('-', '/', 1)}", f"deploy/aggregator{before}"]
    for folder in folders:
        kubectl("apply", "-k", ROOT / folder)
    for part in ("daemonset/why-terminating-agent", "deployment/why-terminating-aggregator"):
        kubectl("-n", NAME, "rollout", "status", part, "--timeout=120s")
    for folder in reversed(folders):
        kubectl("delete", "-k", ROOT / folder, "--timeout=120s")
    until("everything is gone", 60, lambda: not left_over() or print("left:", *left_over()))
    print(f"kubectl: {' and '.join(folders)} applied, running, deleted, and nothing is left but Events")


def install():
    pod_security()
    with_kubectl()
    kubectl("create", "namespace", NAME)
    # The agent's level.
    kubectl("label", "namespace", NAME, "pod-security.kubernetes.io/enforce=privileged")
    dry_runs()
    with Config(namespace=NAME) as config, previous_chart() as previous:
        tag, chart = previous or ("itself, as nothing has been released", CHART)
        # The images at hand are of this version.
        image = {"image": {"tag": Chart.load(CHART).metadata["appVersion"]}}
        values = {component: {**changed, **image} for component, changed in CHANGED.items()}
        config.install(chart, NAME, values, **WAIT)
        before = selectors()
        config.upgrade(CHART, NAME, {}, reset_values=True, **WAIT)
        assert selectors() == before and before, (selectors(), before)
        revisions = [it["revision"] if "revision" in it else it["version"] for it in config.history(NAME)]
        print(f"helm: installed and upgraded from {tag}, {len(revisions)} revisions, {len(before)} selectors as before")
        helm_test(config)
    policies()


def counters():
    with Config(namespace=NAME) as config:
        config.upgrade(CHART, NAME, {"agent": {"kubeletMetrics": True}}, **WAIT)


def left_over():
    """What is left of it: by its label anywhere, and whatever is in its namespace."""
    kinds = ",".join(kubectl("api-resources", "--verbs=list", "-o", "name").stdout.split())
    label = "app.kubernetes.io/part-of=why-terminating"
    labelled = kubectl("get", kinds, "-A", "-l", label, "-o", "name", check=False).stdout.split()
    inside = kubectl("get", kinds, "-n", NAME, "--ignore-not-found", "-o", "json", check=False).stdout
    inside = [it for it in json.loads(inside)["items"] if it["metadata"].get("namespace") == NAME] if inside else []
    # Of every namespace, the second where Kubernetes is OpenShift's.
    own = {("ConfigMap", name) for name in ("kube-root-ca.crt", "openshift-service-ca.crt")} | {("ServiceAccount", "default")}
    named = {(it["kind"], it["metadata"]["name"]) for it in inside if it["kind"] != "Event"} - own
    return labelled + sorted(f"{kind}/{name}" for kind, name in named)


def uninstall():
    with Config(namespace=NAME) as config:
        config.uninstall(NAME, wait="watcher", timeout=120)
    until("everything is gone", 60, lambda: not left_over() or print("left:", *left_over()))
    print("helm: uninstalled, and nothing is left but Events, which expire")
    kubectl("delete", "namespace", NAME, "--timeout=120s")


{"install": install, "counters": counters, "uninstall": uninstall}[sys.argv[1]]()

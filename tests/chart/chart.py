"""Renders and checks deploy/chart with Helm's own engine, and makes the kustomize base of it.

    tests/chart/run.sh            check everything, and that deploy/base and the chart's README are not stale
    tests/chart/run.sh --write    write them
"""

import json
import pathlib
import re
import subprocess
import sys

import yaml
from helm_python import Chart, HelmError
from helm_python.chart import lint

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/chart"
NAME = "why-terminating"

# Sets of values, each rendered, linted and read. What must be in it and what must not.
SETS = {
    "defaults": (
        {},
        [("DaemonSet", 1), ("Deployment", 1), ("ValidatingAdmissionPolicy", 2), ("Namespace", 0), ("PodMonitor", 0)],
    ),
    "1.29, AppArmor by annotation": ({"kubeVersion": "1.29.4"}, [("ValidatingAdmissionPolicy", 0)]),
    "1.31, policy asked for": (
        {"kubeVersion": "v1.31.0", "eventPolicy": {"enabled": True}},
        [("ValidatingAdmissionPolicy", 2)],
    ),
    "kernel stacks": ({"agent": {"kernelStacks": True}}, [("DaemonSet", 1)]),
    "the kubelet's counters": ({"agent": {"kubeletMetrics": True}}, [("DaemonSet", 1)]),
    "OpenShift": ({"openshift": {"scc": True}}, [("SecurityContextConstraints", 1)]),
    "monitored": (
        {
            "podMonitor": {"enabled": True, "labels": {"release": "p"}},
            "serviceMonitor": {"enabled": True},
            "prometheusRule": {"enabled": True, "runbooks": "https://wiki.example.com/causes"},
        },
        [("PodMonitor", 1), ("ServiceMonitor", 1), ("PrometheusRule", 1)],
    ),
    "by digest, pull secret, no network policy": (
        {
            "imagePullSecrets": [{"name": "registry"}],
            "agent": {"image": {"repository": "r.example.com/a", "digest": "sha256:" + "a" * 64}},
            "networkPolicy": {"enabled": False},
        },
        [("NetworkPolicy", 0)],
    ),
    "own priority, namespace made, some nodes": (
        {
            "namespace": {"create": True},
            "agent": {
                "priorityClassName": "high",
                "tolerations": [],
                "nodeSelector": {"kubernetes.io/os": "linux", "pool": "a"},
                "extraArgs": ["--log-format=json"],
                "podAnnotations": {"a": "b"},
            },
        },
        [("Namespace", 1), ("ResourceQuota", 1)],
    ),
    "one replica, own certificate, own kinds, no Events": (
        {
            "aggregator": {
                "replicas": 1,
                "tlsSecret": "tls",
                "events": False,
                "namesInMetrics": True,
                "priorityClassName": "",
                "rbac": {"groups": ["argoproj.io"]},
            },
            "networkPolicy": {"readersFrom": [{"podSelector": {}}]},
        },
        [("PodDisruptionBudget", 0), ("ResourceQuota", 1)],
    ),
    "the service alone": ({"agent": {"enabled": False}}, [("DaemonSet", 0), ("ClusterRole", 1)]),
    "the agent alone": ({"aggregator": {"enabled": False}}, [("Deployment", 0), ("ClusterRole", 1)]),
}

# What the schema must refuse.
REFUSED = [
    {"agnet": {}},
    {"agent": {"kernelStacks": "yes"}},
    {"agent": {"kubeletMetrics": "yes"}},
    {"agent": {"image": {"repository": "a b"}}},
    {"agent": {"metricsPort": 80}},
    {"agent": {"extraArgs": ["; reboot"]}},
    {"eventPolicy": {"enabled": "no"}},
    {"aggregator": {"rbac": {"groups": ["*"]}}},
    {"aggregator": {"rbac": {"groups": [""]}}},
    {"aggregator": {"replicas": 0}},
    {"prometheusRule": {"runbooks": "wiki"}},
    {"networkPolicy": {"scrapersFrom": []}},
]

# How the kustomize base is rendered, and which of its files holds which template.
BASE = {"namespace": {"create": True}, "eventPolicy": {"enabled": True}, "kubeVersion": "1.36.0"}
BASE_FILES = {
    "deploy/base/namespace.yaml": "namespace.yaml",
    "deploy/base/service-account.yaml": "agent/service-account.yaml",
    "deploy/base/rbac.yaml": "agent/rbac.yaml",
    "deploy/base/quota.yaml": "agent/quota.yaml",
    "deploy/base/network-policy.yaml": "agent/network-policy.yaml",
    "deploy/base/daemonset.yaml": "agent/daemonset.yaml",
    "deploy/event-policy/policy.yaml": "agent/event-policy.yaml",
    **{
        f"deploy/aggregator/{name}.yaml": f"aggregator/{name}.yaml"
        for name in (
            "service-account rbac quota network-policy deployment disruption-budget service event-policy".split()
        )
    },
}
# Who installs without Helm is not managed by it.
ONLY_HELM = re.compile(r"^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n", re.M)


def render(values):
    return Chart.load(CHART).render(values, name=NAME, namespace=NAME)


def objects(rendered):
    texts = (text for path, text in rendered.items() if path.endswith(".yaml"))
    return [it for text in texts for it in yaml.safe_load_all(text) if it]


def base():
    rendered = render(BASE)
    for file, template in BASE_FILES.items():
        text = ONLY_HELM.sub("", rendered[f"{NAME}/templates/{template}"]).strip() + "\n"
        yield file, f"# Made from deploy/chart by tests/chart/run.sh --write.\n{text}"


def readme():
    """The chart's README: each value with its default and the comment above it."""
    lines = ["# The chart", "", "Made from `values.yaml` by `tests/chart/run.sh --write`. How to install: "
             "[deploy/README.md](../README.md).", "", "| value | default | |", "|---|---|---|"]
    path, said = [], []
    for line in (CHART / "values.yaml").read_text().splitlines()[1:]:
        entry = re.match(r"^( *)([A-Za-z]\w*):(?: (.*))?$", line)
        comment = re.match(r"^ *# (.*)$", line)
        if comment:
            said.append(comment[1])
        elif entry:
            depth = len(entry[1]) // 2
            path = path[:depth] + [entry[2]]
            if entry[3] is not None or said:
                default = f"`{entry[3]}`" if entry[3] else ""
                lines.append(f"| `{'.'.join(path)}` | {default} | {' '.join(said)} |")
            said = []
    return "deploy/chart/README.md", "\n".join(lines) + "\n"


def check_set(name, values, expected):
    report = lint(CHART, values, strict=True, namespace=NAME)
    # No icon is to be had.
    said = [it for it in report["messages"] if "icon" not in it["error"]]
    assert not said and not report["errors"], (name, report)
    found = objects(render(values))
    kinds = [it["kind"] for it in found]
    for kind, count in expected:
        assert kinds.count(kind) == count, f"{name}: {kinds.count(kind)} {kind}, not {count}"
    names = [(it["apiVersion"], it["kind"], it["metadata"].get("namespace"), it["metadata"]["name"]) for it in found]
    assert len(set(names)) == len(names), f"{name}: something is there twice"
    return found


def check_rights():
    """Nobody reads a Secret, runs anything in a pod, or asks for another's rights."""
    for values, _ in SETS.values():
        for role in (it for it in objects(render(values)) if it["kind"].endswith("Role")):
            for rule in role["rules"]:
                resources, groups = set(rule["resources"]), set(rule["apiGroups"])
                assert "*" not in groups and "*" not in rule["verbs"], role["metadata"]["name"]
                assert "" not in groups or not resources & {"*", "secrets", "pods/exec", "serviceaccounts/token"}
                assert not {"impersonate", "delete", "deletecollection", "escalate", "bind"} & set(rule["verbs"])


def check_details():
    old = {it["kind"]: it for it in objects(render(SETS["1.29, AppArmor by annotation"][0]))}["DaemonSet"]
    pod = old["spec"]["template"]
    assert pod["metadata"]["annotations"]["container.apparmor.security.beta.kubernetes.io/reader"] == "unconfined"
    assert "appArmorProfile" not in pod["spec"]["containers"][0]["securityContext"]
    stacks = {it["kind"]: it for it in objects(render(SETS["kernel stacks"][0]))}["DaemonSet"]
    [reader, talker] = stacks["spec"]["template"]["spec"]["containers"]
    assert "SYS_ADMIN" in reader["securityContext"]["capabilities"]["add"]
    assert "add" not in talker["securityContext"]["capabilities"]
    elsewhere = Chart.load(CHART).render({}, name="x", namespace="elsewhere")
    assert "serviceaccount:elsewhere:why-terminating-agent" in elsewhere[f"{NAME}/templates/agent/event-policy.yaml"]
    # Selectors cannot be changed by an upgrade.
    assert stacks["spec"]["selector"]["matchLabels"] == {
        "app.kubernetes.io/name": NAME,
        "app.kubernetes.io/component": "agent",
    }


def check_alerts():
    """The rules survive the chart, and name only metrics that are there."""
    rules = yaml.safe_load((CHART / "files/alerts.yaml").read_text())
    [rendered] = [it for it in objects(render(SETS["monitored"][0])) if it["kind"] == "PrometheusRule"]
    text = json.dumps(rendered["spec"])
    assert "RUNBOOKS" not in text and "https://wiki.example.com/causes#{{ toLower $labels.cause }}" in text
    assert len(rendered["spec"]["groups"][0]["rules"]) == len(rules["groups"][0]["rules"])
    sources = {"why_terminating_cluster": "aggregator/service/src/http/metrics.rs", "why_terminating": "docs/agent.md"}
    for name in set(re.findall(r"why_terminating_\w+", json.dumps(rules))):
        prefix = max((it for it in sources if name.startswith(it)), key=len)
        bare = name.removeprefix(prefix + "_")
        assert re.search(rf"\b{bare}\b", (ROOT / sources[prefix]).read_text()), f"no metric {name}"


def main():
    written = dict([*base(), readme()])
    if "--write" in sys.argv:
        for file, text in written.items():
            (ROOT / file).write_text(text)
        return
    for name, (values, expected) in SETS.items():
        found = check_set(name, values, expected)
        print(f"chart: {name}: {len(found)} objects")
    for values in REFUSED:
        try:
            render(values)
        except HelmError:
            continue
        sys.exit(f"the schema does not refuse {json.dumps(values)}")
    check_rights()
    check_details()
    check_alerts()
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    meta = Chart.load(CHART).metadata
    assert meta["version"] == meta["appVersion"] == version, "Chart.yaml has another version than Cargo.toml"
    stale = [file for file, text in written.items() if not (ROOT / file).exists() or (ROOT / file).read_text() != text]
    if stale:
        sys.exit(f"stale, run tests/chart/run.sh --write: {' '.join(stale)}")


main()

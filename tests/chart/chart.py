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
from fields import check_fields, lost_in
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
from helm_python import Chart, HelmError
from helm_python.chart import lint
from openshift import check_scc
from upgrade import check_kept
from values import readme

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
    "the kernel's log": ({"agent": {"kernelLog": True}, "openshift": {"scc": True}}, [("DaemonSet", 1)]),
    "the kubelet's counters": ({"agent": {"kubeletMetrics": True}}, [("DaemonSet", 1)]),
    "OpenShift": (
        {"openshift": {"scc": True}, "namespace": {"create": True}},
        [("SecurityContextConstraints", 1), ("RoleBinding", 6)],
    ),
    "monitored": (
        {
            "podMonitor": {"enabled": True, "labels": {"release": "p"}},
            "serviceMonitor": {"enabled": True, "authorization": {"credentials": {"name": "scraper", "key": "token"}}},
            "prometheusRule": {"enabled": True, "runbooks": "https://wiki.example.com/PAGE.html?a=$1"},
            "dashboard": {"enabled": True, "annotations": {"grafana_folder": "Kubernetes"}},
        },
        [("PodMonitor", 1), ("ServiceMonitor", 1), ("PrometheusRule", 1), ("ConfigMap", 1)],
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
                "kubeletRoot": "/data/kubelet",
                "criEndpoint": "unix:///run/own.sock",
                "extraArgs": ["--log-format=json", "--scans=3"],
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
                "acceptApiTokens": True,
                "priorityClassName": "",
                "affinity": {"nodeAffinity": {}},
                "topologySpreadConstraints": [
                    {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
                ],
                "rbac": {"groups": ["argoproj.io"]},
            },
            "networkPolicy": {"readersFrom": [{"podSelector": {}}]},
        },
        [("PodDisruptionBudget", 0), ("ResourceQuota", 1)],
    ),
    "a role for people": (
        {"aggregator": {"rbac": {"groups": ["argoproj.io"]}}},
        [("ClusterRole", 3), ("ClusterRoleBinding", 2)],
    ),
    "published": (
        {
            "aggregator": {
                "service": {"type": "LoadBalancer", "annotations": {"a": "b"}},
                "ingress": {"enabled": True, "className": "nginx", "host": "stuck.example.com", "tlsSecret": "page"},
                "httpRoute": {"enabled": True, "parentRefs": [{"name": "gate"}], "hostnames": ["stuck.example.com"]},
            },
        },
        [("Ingress", 1), ("HTTPRoute", 1)],
    ),
    "the service alone": ({"agent": {"enabled": False}}, [("DaemonSet", 0), ("ClusterRole", 2)]),
    "the agent alone": (
        {
            "aggregator": {"enabled": False},
            "plugin": {"clusterRole": False},
            "prometheusRule": {"enabled": True, "runbooks": "https://wiki.example.com/PAGE.html"},
        },
        [("Deployment", 0), ("ClusterRole", 1), ("PrometheusRule", 1)],
    ),
}

# What templates refuse, with words of what they say: no schema sees the version of the cluster or another value.
FAILS = [
    ({"eventPolicy": {"enabled": True}, "kubeVersion": "1.29.4"}, "knows no ValidatingAdmissionPolicy"),
]

# What the schema must refuse.
REFUSED = [
    {"agnet": {}},
    {"agent": {"kernelStacks": "yes"}},
    {"agent": {"kubeletMetrics": "yes"}},
    {"agent": {"image": {"repository": "a b"}}},
    {"agent": {"metricsPort": 80}},
    {"agent": {"extraArgs": ["; reboot"]}},
    # The talker looks at no node, so it would end at once.
    {"agent": {"extraArgs": ["--kubelet-root=/data/kubelet"]}},
    {"agent": {"extraArgs": ["--scans=3", "--cri-endpoint", "/run/own.sock"]}},
    {"agent": {"kubeletRoot": "data/kubelet"}},
    {"agent": {"criEndpoint": "tcp://127.0.0.1:1"}},
    # The DaemonSet would not select its pods.
    {"agent": {"podLabels": {"app.kubernetes.io/component": "a"}}},
    {"aggregator": {"podLabels": {"app.kubernetes.io/name": "a"}}},
    {"aggregator": {"podLabels": {"app.kubernetes.io/part-of": "a"}}},
    {"commonLabels": {"app.kubernetes.io/component": "a"}},
    {"fullnameOverride": "a b"},
    # What the agent needs, and what it must not have.
    {"agent": {"securityContext": {"privileged": True}}},
    {"agent": {"securityContext": {"runAsUser": 65532}}},
    {"agent": {"podSecurityContext": {"seccompProfile": {"type": "Unconfined"}}}},
    {"agent": {"extraEnv": [{"name": "READER", "value": "/tmp/x"}]}},
    {"aggregator": {"podSecurityContext": {"runAsUser": 0}}},
    {"aggregator": {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}},
    {"aggregator": {"extraArgs": ["--lease=a/b"]}},
    {"aggregator": {"service": {"type": "ExternalName"}}},
    {"aggregator": {"ingress": {"enabled": True}}},
    {"aggregator": {"httpRoute": {"enabled": True, "hostnames": ["a.example.com"]}}},
    {"agent": {"updateStrategy": {"type": "Recreate"}}},
    {"agent": {"resources": {"reader": {"limits": {"memroy": "64Mi"}}}}},
    {"agent": {"resources": {"talker": {"requests": {"cpu": True}}}}},
    {"aggregator": {"resources": {"limits": {"nvidia.com/gpu": 1}}}},
    {"aggregator": {"topologySpreadConstraints": ["zone"]}},
    {"eventPolicy": {"enabled": "no"}},
    {"aggregator": {"rbac": {"groups": ["*"]}}},
    {"aggregator": {"rbac": {"groups": [""]}}},
    {"aggregator": {"replicas": 0}},
    {"plugin": {"clusterRole": "yes"}},
    {"prometheusRule": {"runbooks": "wiki"}},
    {"prometheusRule": {"runbooks": "https://wiki.example.com/causes"}},
    {"dashboard": {"labels": {"grafana_dashboard": 1}}},
    {"networkPolicy": {"scrapersFrom": []}},
    # The API server refuses a peer that says nothing.
    {"networkPolicy": {"scrapersFrom": [{}]}},
    {"networkPolicy": {"readersFrom": [{}]}},
]

# How the kustomizations are rendered, and which of their files holds which template.
BASE = {
    "namespace": {"create": True}, "eventPolicy": {"enabled": True}, "kubeVersion": "1.36.0", "plugin": {"clusterRole": False}
}
PLUGIN_ROLE = {"plugin": {"clusterRole": True}}
BASE_FILES = {
    "deploy/base/namespace.yaml": "namespace.yaml",
    "deploy/base/service-account.yaml": "agent/service-account.yaml",
    "deploy/base/rbac.yaml": "agent/rbac.yaml",
    "deploy/base/quota.yaml": "agent/quota.yaml",
    "deploy/base/network-policy.yaml": "agent/network-policy.yaml",
    "deploy/base/daemonset.yaml": "agent/daemonset.yaml",
    "deploy/event-policy/policy.yaml": "agent/event-policy.yaml",
    "deploy/plugin-role/rbac.yaml": "plugin/rbac.yaml",
    **{
        f"deploy/aggregator/{name}.yaml": f"aggregator/{name}.yaml"
        for name in (
            "service-account rbac lease quota network-policy deployment disruption-budget service event-policy".split()
        )
    },
}
# Who installs without Helm is not managed by it.
ONLY_HELM = re.compile(r"^ *(helm\.sh/chart|app\.kubernetes\.io/(managed-by|instance|version)): .*\n", re.M)
METRIC = r"\b(?:why_terminating|process)_\w+"
# Metrics that neither dashboard nor alerts use: they are for debugging the agent itself.
NOT_SHOWN = {
    # Only of lists that are cut: which, after the panel has shown that one is.
    "why_terminating_cluster_cut_list",
    "process_open_fds",
    "process_start_time_seconds",
}


def render(values, chart=CHART):
    return Chart.load(chart).render(values, name=NAME, namespace=NAME)


def objects(rendered):
    texts = (text for path, text in rendered.items() if path.endswith(".yaml"))
    return [it for text in texts for it in yaml.safe_load_all(text) if it]


def base():
    rendered = render({**BASE, **PLUGIN_ROLE})
    for file, template in BASE_FILES.items():
        text = ONLY_HELM.sub("", rendered[f"{NAME}/templates/{template}"]).strip() + "\n"
        yield file, f"# Made from deploy/chart by tests/chart/run.sh --write.\n{text}"


def rights():
    """What each program may do, which the fake API server of all tests enforces: every right that any value gives."""
    values = {
        "agent": {"kubeletMetrics": True},
        # The fake takes it for the group of any custom resource.
        "aggregator": {"rbac": {"groups": ["own-kinds.example.com"]}},
        **PLUGIN_ROLE,
    }
    found = objects(render(values))
    roles = {(it["kind"], it["metadata"]["name"]): it for it in found if it["kind"].endswith("Role")}
    granted = {"kubectl-why_terminating": [{"namespace": None, "rules": roles["ClusterRole", f"{NAME}-plugin"]["rules"]}]}
    for binding in (it for it in found if it["kind"].endswith("RoleBinding")):
        [subject], of = binding["subjects"], binding["roleRef"]
        role = {"namespace": binding["metadata"].get("namespace"), "rules": roles[of["kind"], of["name"]]["rules"]}
        granted.setdefault(subject["name"], []).append(role)
    for program in granted.values():
        # As an API server: what holds everywhere is looked at first, so that it shows what a Role repeats.
        program.sort(key=lambda role: role["namespace"] or "")
    return "tests/apiserver/rights.json", json.dumps(granted, indent=1, sort_keys=True) + "\n"


def check_set(name, values, expected):
    report = lint(CHART, values, strict=True, namespace=NAME)
    assert not report["messages"] and not report["errors"], (name, report)
    found = objects(render(values))
    kinds = [it["kind"] for it in found]
    for kind, count in expected:
        assert kinds.count(kind) == count, f"{name}: {kinds.count(kind)} {kind}, not {count}"
    names = [(it["apiVersion"], it["kind"], it["metadata"].get("namespace"), it["metadata"]["name"]) for it in found]
    assert len(set(names)) == len(names), f"{name}: something is there twice"
    for it in found:
        check_fields(it)
        # Nothing of ours holds a namespace by being there.
        assert "finalizers" not in it["metadata"], f"{name}: {it['metadata']['name']} has a finalizer"
    return found


def check_rights():
    """No account reads a Secret, runs anything in a pod, or impersonates another."""
    for values, _ in SETS.values():
        for role in (it for it in objects(render(values)) if it["kind"].endswith("Role")):
            for rule in role["rules"]:
                resources, groups = set(rule["resources"]), set(rule["apiGroups"])
                assert "*" not in groups and "*" not in rule["verbs"], role["metadata"]["name"]
                assert "" not in groups or not resources & {"*", "secrets", "pods/exec", "serviceaccounts/token"}
                forbidden = {"impersonate", "delete", "deletecollection", "escalate", "bind"}
                if rule.get("resourceNames") == [f"{NAME}-test-held"]:
                    # The one pod that `helm test` deletes.
                    forbidden.remove("delete")
                assert not forbidden & set(rule["verbs"]), role["metadata"]["name"]


def check_details():
    old = {it["kind"]: it for it in objects(render(SETS["1.29, AppArmor by annotation"][0]))}["DaemonSet"]
    pod = old["spec"]["template"]
    assert pod["metadata"]["annotations"]["container.apparmor.security.beta.kubernetes.io/reader"] == "unconfined"
    assert "appArmorProfile" not in pod["spec"]["containers"][0]["securityContext"]
    for values, right in [("kernel stacks", "SYS_ADMIN"), ("the kernel's log", "SYSLOG")]:
        agent = {it["kind"]: it for it in objects(render(SETS[values][0]))}["DaemonSet"]
        [reader, talker] = agent["spec"]["template"]["spec"]["containers"]
        assert reader["securityContext"]["capabilities"]["add"] == ["SYS_PTRACE", "DAC_READ_SEARCH", right]
        assert ("--kernel-log" in reader["args"]) == (right == "SYSLOG")
        assert "add" not in talker["securityContext"]["capabilities"]
    rendered = {it["kind"]: it for it in objects(render(SETS["own priority, namespace made, some nodes"][0]))}["DaemonSet"]
    [reader, talker] = rendered["spec"]["template"]["spec"]["containers"]
    assert reader["args"][2:] == ["--kubelet-root=/data/kubelet", "--cri-endpoint=unix:///run/own.sock"], reader["args"]
    assert talker["args"] == ["run", "--log-format=json", "--scans=3"], talker["args"]
    elsewhere = Chart.load(CHART).render({}, name="x", namespace="elsewhere")
    assert "serviceaccount:elsewhere:why-terminating-agent" in elsewhere[f"{NAME}/templates/agent/event-policy.yaml"]
    # A quota there would count the pods of others.
    in_system = Chart.load(CHART).render({}, name="x", namespace="kube-system")
    assert not any("ResourceQuota" in text for text in in_system.values())
    # What is given is in the place of ours.
    own = {it["kind"]: it for it in objects(render(SETS["one replica, own certificate, own kinds, no Events"][0]))}
    spread = own["Deployment"]["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert [it["maxSkew"] for it in spread] == [2], spread
    assert spread[0]["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == "aggregator", spread
    # The service keeps to the Pod Security level "restricted".
    service = {it["kind"]: it for it in objects(render(SETS["the service alone"][0]))}["Deployment"]
    pod = service["spec"]["template"]["spec"]
    assert not {"hostPID", "hostIPC", "hostNetwork"} & set(pod)
    assert all(set(volume) - {"name"} <= {"emptyDir", "secret", "projected"} for volume in pod["volumes"])
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False and context["capabilities"] == {"drop": ["ALL"]}
        assert all("hostPort" not in port for port in container["ports"])
    # So do the pods of `helm test`, which are there for the test only.
    hooks = [it for it in objects(render({})) if "helm.sh/hook" in it["metadata"].get("annotations", {})]
    assert [it["kind"] for it in hooks] == ["ServiceAccount", "Role", "RoleBinding", "Pod", "Pod"]
    for hook in hooks:
        annotations = hook["metadata"]["annotations"]
        assert annotations["helm.sh/hook"] == "test", hook["metadata"]["name"]
        assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
    for spec in (it["spec"] for it in hooks if it["kind"] == "Pod"):
        assert not {"hostPID", "hostIPC", "hostNetwork", "priorityClassName"} & set(spec)
        assert spec["securityContext"]["runAsNonRoot"] and spec["restartPolicy"] == "Never"
        [container] = spec["containers"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def check_network():
    """Who reaches which port, where values say nothing of it."""
    policies = {it["metadata"]["name"]: it["spec"] for it in objects(render({})) if it["kind"] == "NetworkPolicy"}
    monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    labels = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "test"}
    for component, port, more in [("agent", 9753, []), ("aggregator", 8443, [{"podSelector": {"matchLabels": labels}}])]:
        policy = policies[f"{NAME}-{component}"]
        assert policy["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == component
        [ingress] = policy["ingress"]
        assert ingress["from"] == [monitoring, *more], ingress
        assert ingress["ports"] == [{"protocol": "TCP", "port": port}] and policy["policyTypes"] == ["Ingress"]


def check_conventions():
    """What platform teams set in every chart reaches each object; what others find ours by stays."""
    values = {
        "global": {"imageRegistry": "mirror.example.com:5000/k8s"},
        "nameOverride": "not-this",
        "fullnameOverride": "wt",
        "namespaceOverride": "ops",
        "commonLabels": {"team": "platform"},
        "extraObjects": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-own", "namespace": "ops", "labels": {"team": "platform"}}}
        ],
        "agent": {
            "serviceAccount": {"create": False, "name": "given"},
            "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
            "podSecurityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}},
            "securityContext": {"seLinuxOptions": {"type": "own_t"}},
        },
        "aggregator": {
            "serviceAccount": {"name": "reader", "annotations": {"role": "r"}},
            "extraArgs": ["--request-timeout=20"],
            "extraEnv": [{"name": "NO_PROXY", "value": "10.0.0.0/8"}],
            "podSecurityContext": {"runAsUser": 1000},
            "securityContext": {"seLinuxOptions": {"type": "container_t"}},
            "ingress": {"enabled": True, "host": "a.example.com"},
        },
        "openshift": {"scc": True},
        "namespace": {"create": True},
        **{monitor: {"enabled": True} for monitor in ("podMonitor", "serviceMonitor", "prometheusRule", "dashboard")},
    }
    rendered = Chart.load(CHART).render(values, name="release", namespace="elsewhere")
    found = objects(rendered)
    fixed = {"why-terminating-findings", "why-terminating-announcements", "node-critical-pods", "cluster-critical-pods"}
    for it in found:
        name, meta = f"{it['kind']} {it['metadata']['name']}", it["metadata"]
        check_fields(it)
        assert meta.get("namespace", "ops") in ("ops", "default"), name
        assert meta["labels"]["team"] == "platform", name
        expected = name.split()[1] in fixed | {"reader", "release-own", "ops"} or meta["name"].partition("-")[0] == "wt"
        assert expected, f"{name} is not named by fullnameOverride"
    # The program keeps its name.
    text = "\n".join(rendered.values()).replace("/why-terminating-agent check", "")
    for gone in ("elsewhere", "why-terminating-agent", "why-terminating-aggregator", "not-this"):
        assert gone not in text, re.findall(f".*{gone}.*", text)
    by_kind = {it["kind"]: it for it in found}
    agent, service = by_kind["DaemonSet"]["spec"]["template"], by_kind["Deployment"]["spec"]["template"]
    assert by_kind["DaemonSet"]["spec"]["selector"] == {
        "matchLabels": {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "agent"}
    }
    labels = agent["metadata"]["labels"]
    assert (labels["team"], labels["app.kubernetes.io/instance"]) == ("platform", "release"), labels
    images = {it["image"].rpartition(":")[0] for it in agent["spec"]["containers"] + service["spec"]["containers"]}
    assert images == {f"mirror.example.com:5000/k8s/{program}" for program in ("agent", "aggregator")}, images
    [reader, talker], [server] = agent["spec"]["containers"], service["spec"]["containers"]
    assert {it["name"] for it in talker["env"]} >= {"HTTPS_PROXY", "READER"} and "env" not in reader
    assert agent["spec"]["securityContext"] == {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}
    assert {it["securityContext"]["seLinuxOptions"]["type"] for it in (reader, talker)} == {"own_t"}
    assert service["spec"]["securityContext"]["runAsUser"] == 1000 and service["spec"]["securityContext"]["runAsNonRoot"]
    assert server["args"][-1] == "--request-timeout=20" and server["env"][0]["name"] == "NO_PROXY"
    assert server["securityContext"]["seLinuxOptions"] == {"type": "container_t"} and server["securityContext"]["readOnlyRootFilesystem"]
    accounts = sorted(it["metadata"]["name"] for it in found if it["kind"] == "ServiceAccount")
    assert accounts == ["reader", "wt-test"], accounts
    assert (agent["spec"]["serviceAccountName"], service["spec"]["serviceAccountName"]) == ("given", "reader")
    assert "system:serviceaccount:ops:given" in text and "system:serviceaccount:ops:reader" in text


def check_notes():
    """The notes name each image that cannot be pulled, and agents and service only where they are."""
    own = {"image": {"repository": "r.example.com/own"}}
    for values, expected in [({}, 2), ({"agent": own}, 1), ({"aggregator": own}, 1), ({"agent": own, "aggregator": own}, 0)]:
        notes = render(values)[f"{NAME}/templates/NOTES.txt"]
        assert notes.count("cannot be pulled") == expected, (values, notes)
    old = {"kubeVersion": "1.29.4"}
    for enabled in [(True, True), (True, False), (False, True), (False, False)]:
        values = {program: {"enabled": is_there} for program, is_there in zip(("agent", "aggregator"), enabled)}
        notes = render({**values, **old})[f"{NAME}/templates/NOTES.txt"]
        for is_there, words in zip(enabled, (("AGENT-POD", "reportingComponent", "the agents' name"), ("port-forward",))):
            assert all((word in notes) == is_there for word in words), (enabled, notes)
        assert "No agents come" in notes or enabled[0], (enabled, notes)
        assert notes.startswith(("The agents", "No agents")) and "\n\n\n" not in notes, (enabled, notes)


def check_refused():
    """What cannot work is refused before anything is made of it."""
    for values in REFUSED:
        assert "values don't meet the specifications of the schema" in refusal(values), json.dumps(values)
    for values, words in FAILS:
        assert words in refusal(values), json.dumps(values)
    # And what looks like it is taken: another label, an amount as a number.
    taken = {"podLabels": {"app.kubernetes.io/created-by": "us"}, "updateStrategy": {"type": "OnDelete"}}
    amounts = {"requests": {"cpu": 0.1, "ephemeral-storage": "1Gi"}, "limits": {"hugepages-2Mi": 0}}
    assert render({"agent": taken, "aggregator": {"resources": amounts}, "eventPolicy": {"enabled": True}, "kubeVersion": "1.30"})


def refusal(values):
    try:
        render(values)
    except HelmError as error:
        return str(error)
    sys.exit(f"the chart takes {json.dumps(values)}")


def alerts(rendered):
    [found] = [it for it in objects(rendered) if it["kind"] == "PrometheusRule"]
    [group] = found["spec"]["groups"]
    return group["rules"]


# What ends a string, a line or a document wherever it is taken as it stands, after what a text of its kind begins with.
HOSTILE = [
    begin + end
    for begin in ("a", "/a", "--a=", "https://a/PAGE", "1.30.0")
    for end in ("\"'\n---\ninjected: {a: b}\n{{ fail \"a template\" }}\n- injected # ", "\", injected, injected: b, \"c #'")
]
# Free to hold any key and text.
MAPS = ["podAnnotations", "podLabels", "nodeSelector"]


def texts(values, path=()):
    """The path of each text in these values."""
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        if isinstance(value, str):
            yield (*path, key)
        elif isinstance(value, dict | list):
            yield from texts(value, (*path, key))


def replaced(values, path, text):
    """These values with another text there, and what leads to it."""
    if not path:
        return text
    values = list(values) if isinstance(values, list) else dict(values or {})
    key = path[0]
    old = values[key] if isinstance(values, list) or key in values else None
    values[key] = replaced(old, path[1:], text)
    return values


def words(node):
    """Each key of an object, and each text that is one entry of a list."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from words(value)
    elif isinstance(node, list):
        for value in node:
            yield from [value] if isinstance(value, str) else words(value)


def check_hostile():
    """A text that is no text of its kind is refused, or stays one text: it adds no field, no entry and no object."""
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    tried = [({}, path) for path in texts(defaults)]
    tried += [(values, path) for values, _ in SETS.values() for path in texts(values)]
    tried += [({}, (part, name, "a")) for part in ("agent", "aggregator") for name in MAPS]
    taken = 0
    for values, path in tried:
        count = len(objects(render(values)))
        for text in HOSTILE:
            try:
                rendered = render(replaced(values, path, text))
            except HelmError:
                continue
            taken += 1
            try:
                found = objects(rendered)
            except yaml.YAMLError as error:
                raise AssertionError(f"{path} leaves its place: {text!r}") from error
            assert len(found) == count, f"{path} makes other objects: {text!r}"
            assert "injected" not in {word for it in found for word in words(it)}, f"{path} leaves its place: {text!r}"
    asked = len(tried) * len(HOSTILE)
    print(f"chart: {asked} hostile texts: {asked - taken} refused, {taken} kept as they are")


def check_alerts():
    """The rules survive the chart, and each links to a page that is there."""
    rules = yaml.safe_load((CHART / "files/alerts.yaml").read_text())["groups"][0]["rules"]
    found = {it["alert"]: it["annotations"]["runbook_url"] for it in alerts(render(SETS["monitored"][0]))}
    assert len(found) == len(rules)
    # Where there is no service, one that fires without its metrics would do so for ever.
    alone = alerts(render(SETS["the agent alone"][0]))
    assert [it["alert"] for it in alone] == ["TerminatingPodHeldOnNode", "WhyTerminatingSourceSilent"], alone
    assert all(it in alerts(render({"prometheusRule": SETS["the agent alone"][0]["prometheusRule"]})) for it in alone)
    # Without an address each names what prints its page.
    unpublished = [it["annotations"] for it in alerts(render({"prometheusRule": {"enabled": True}}))]
    assert not [it for it in unpublished if "runbook_url" in it], unpublished
    cause = """{{ with printf "why_terminating_cluster_root_victims{root=\\"%s\\"}" $labels.root | query }}{{ . | first | label "cause" }}{{ end }}"""
    assert unpublished[0]["runbook"] == f"kubectl why-terminating causes {cause}", unpublished[0]
    assert unpublished[1]["runbook"].endswith("section terminatingrootsleftout"), unpublished[1]
    # What they say to type is where they are.
    elsewhere = alerts(Chart.load(CHART).render(SETS["monitored"][0], name="x", namespace="elsewhere"))
    assert "-n elsewhere exec" in str(elsewhere) and f"-n {NAME}" not in str(elsewhere)
    for rule in rules:
        page, anchor = re.fullmatch(r"RUNBOOK\((.*)\)(#.*)?", rule["annotations"]["runbook_url"]).groups()
        name = rule["alert"]
        assert found[name] == f"https://wiki.example.com/{page}.html?a=$1{anchor or ''}", found[name]
        if page == f"causes/{cause}":
            # The labels of the root and the severity alone: with another cause it is the same alert.
            assert re.search(r"^max by \(root, kind, namespace, severity\) ", rule["expr"]), rule["expr"]
            continue
        if page == "causes/{{ $labels.cause }}":
            # The metric takes the label from the registry, and xtask writes a page for each of it.
            assert re.search(r"by \([a-z, ]*\bcause\b", rule["expr"]), f"{name}: its expression keeps no cause"
            continue
        text = (ROOT / f"docs/{page}.md").read_text()
        assert anchor and f"\n## {name}\n" in text and anchor == f"#{name.lower()}", f"{name}: no runbook"
    text = (ROOT / "docs/alerts.md").read_text()
    # The command of the page for installations without Helm.
    typed = subprocess.run(["sh", "-c", re.search(r"^sed .*", text, re.M)[0]], cwd=ROOT, capture_output=True, check=True)
    by_chart = render({"prometheusRule": {"enabled": True, "runbooks": "https://wiki.example.com/why-terminating/PAGE.html"}})
    [rendered] = [it for it in objects(by_chart) if it["kind"] == "PrometheusRule"]
    assert yaml.safe_load(typed.stdout) == rendered["spec"], "docs/alerts.md puts other addresses into the rules than the chart"
    described = re.findall(r"^## (\w+)$", text, re.M)
    assert [it["alert"] for it in rules] == described, "docs/alerts.md describes other alerts than there are, or in another order"


def exported():
    """The labels of each metric that a program exports, as its own test wrote it."""
    metrics = {}
    for job, scraped in {"agent": ["node"], "aggregator": ["pod"]}.items():
        for line in (ROOT / f"tests/chart/metrics/{job}.prom").read_text().splitlines():
            if sample := re.match(r"(\w+)(?:\{(.*)\})? ", line):
                labels = re.findall(r'(\w+)="', sample[2] or "")
                metrics.setdefault(sample[1], {"job", "instance", *scraped}).update(labels)
    return metrics


def check_labels():
    """The Prometheus operator gives each series labels of its own, and renames those of the program that are called so."""
    operators = {"namespace", "pod", "container", "service", "endpoint", "job", "instance", "node"}
    monitors = {it["kind"]: it["spec"] for it in objects(render(SETS["monitored"][0])) if it["kind"].endswith("Monitor")}
    [agent], [service] = monitors["PodMonitor"]["podMetricsEndpoints"], monitors["ServiceMonitor"]["endpoints"]
    for page, endpoint in {"agent": agent, "service": service}.items():
        labels = re.findall(r"^\| `\w+\{([\w,]+)\}`", (ROOT / f"docs/{page}.md").read_text(), re.M)
        same = operators & set(",".join(labels).split(","))
        assert not same or endpoint.get("honorLabels"), f"docs/{page}.md: the operator renames {same}"
    assert "authorization" in service and "bearerTokenFile" not in service


def check_metrics():
    """What dashboard and alerts ask for is what a program exports, with labels that it has."""
    metrics = exported()
    dashboard = json.loads((CHART / "files/dashboard.json").read_text())
    targets = [(panel["title"], it) for panel in dashboard["panels"] for it in panel.get("targets", [])]
    asked = [(f"dashboard, {title}", target["expr"]) for title, target in targets]
    asked += [("dashboard, variables", it["query"]["query"]) for it in dashboard["templating"]["list"][1:]]
    for rule in yaml.safe_load((CHART / "files/alerts.yaml").read_text())["groups"][0]["rules"]:
        asked += [(rule["alert"], rule["expr"])]
    for where, query in asked:
        names = re.findall(METRIC, query)
        assert names, f"{where}: asks for no metric: {query}"
        for name in names:
            assert name in metrics, f"{where}: no program exports {name}"
        labels = set().union(*(metrics[name] for name in names))
        # Those of Prometheus's own series, and those that a query makes.
        labels |= {"alertname", "alertstate"} if "ALERTS{" in query else set()
        labels |= set(re.findall(r'"(\w+)", "[^"]*", "\w*", "[^"]*"\s*\)', query))
        used = re.findall(r"(\w+)\s*=?[=~!]~?\s*\"", query)
        for listed in re.findall(r"\b(?:by|on|without|ignoring) \(([^)]*)\)", query):
            used += re.findall(r"\w+", listed)
        assert set(used) <= labels, f"{where}: no such labels: {set(used) - labels}"
    shown = {name for _, query in asked for name in re.findall(METRIC, query)}
    left = {re.sub(r"_(bucket|sum|count)$", "", it) for it in metrics} - {re.sub(r"_(bucket|sum|count)$", "", it) for it in shown}
    assert left == NOT_SHOWN, f"metrics that nothing shows: {left - NOT_SHOWN}; shown after all: {NOT_SHOWN - left}"
    for page, job in {"docs/agent.md": "agent", "docs/service.md": "aggregator"}.items():
        text = (ROOT / page).read_text()
        prefix = "why_terminating_cluster_" if job == "aggregator" else "why_terminating_"
        for name in metrics:
            if name.startswith("why_terminating_cluster_") == (job == "aggregator"):
                bare = re.sub(r"_(bucket|sum|count)$", "", name.removeprefix(prefix))
                assert re.search(rf"`{bare}[`{{]", text), f"{page} does not describe {name}"


def check_dashboard():
    """Grafana's own types take it, and nothing of it is lost in them; no panel lies on another."""
    text = (CHART / "files/dashboard.json").read_text()
    ours = json.loads(text)
    register_default_plugins()
    taken = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(ours)))
    lost = list(lost_in(ours, taken, "dashboard"))
    assert not lost, f"Grafana does not know {lost}"
    ids = [panel["id"] for panel in ours["panels"]]
    assert len(set(ids)) == len(ids)
    covered = set()
    for panel in ours["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & covered, f"{panel['title']} lies on another"
        covered |= cells
        for target in panel.get("targets", []):
            assert target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    [rendered] = [it for it in objects(render(SETS["monitored"][0])) if it["kind"] == "ConfigMap"]
    assert rendered["data"] == {"why-terminating.json": text}
    assert rendered["metadata"]["labels"]["grafana_dashboard"] == "1"


def main():
    written = dict([*base(), readme(), rights()])
    if "--write" in sys.argv:
        for file, text in written.items():
            (ROOT / file).write_text(text)
        return
    rendered = {name: check_set(name, values, expected) for name, (values, expected) in SETS.items()}
    for name, found in rendered.items():
        print(f"chart: {name}: {len(found)} objects")
    check_kept(rendered.values())
    check_refused()
    check_conventions()
    check_hostile()
    check_notes()
    check_rights()
    check_network()
    check_details()
    check_scc(rendered["OpenShift"])
    check_scc(objects(render({**SETS["OpenShift"][0], **SETS["kernel stacks"][0]})))
    check_alerts()
    check_labels()
    check_metrics()
    check_dashboard()
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    meta = Chart.load(CHART).metadata
    assert meta["version"] == meta["appVersion"] == version, "Chart.yaml has another version than Cargo.toml"
    stale = [file for file, text in written.items() if not (ROOT / file).exists() or (ROOT / file).read_text() != text]
    if stale:
        sys.exit(f"stale, run tests/chart/run.sh --write: {' '.join(stale)}")


if __name__ == "__main__":
    main()

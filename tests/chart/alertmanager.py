"""Sends alerts to a real Alertmanager that has deploy/chart/files/inhibit-rules.yaml, and asks which of them it pages.

    alertmanager.py ALERTMANAGER
"""

import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = yaml.safe_load((ROOT / "deploy/chart/files/inhibit-rules.yaml").read_text())
OURS = {rule["alert"] for rule in yaml.safe_load((ROOT / "deploy/chart/files/alerts.yaml").read_text())["groups"][0]["rules"]}

# Debian's reads its templates from /usr/share, and where it is only unpacked they are not there.
WITH_TEMPLATES = """
[ -e /usr/share/prometheus/alertmanager/default.tmpl ] ||
    mount -t overlay overlay -o "lowerdir=$(realpath "$(dirname "$0")/../share"):/usr/share" /usr/share
exec "$0" "$@"
"""

# What fires together, and what of it pages.
CASES = [
    (
        "a lost node pages once, another root beside it pages too",
        [
            {"alertname": "KubeNodeUnreachable", "node": "node-b"},
            {"alertname": "TerminatingStuck", "cause": "NodeUnreachable", "root": "01", "node": "node-b"},
            {"alertname": "TerminatingStuck", "cause": "FinalizerControllerGone", "root": "02"},
        ],
        ["KubeNodeUnreachable", "TerminatingStuck FinalizerControllerGone"],
    ),
    (
        "nor does another node that no other alert names",
        [
            {"alertname": "KubeNodeUnreachable", "node": "node-b"},
            {"alertname": "TerminatingStuck", "cause": "NodeUnreachable", "root": "01", "node": "node-c"},
        ],
        ["KubeNodeUnreachable", "TerminatingStuck NodeUnreachable"],
    ),
    *(
        (
            f"a node that is not ready pages once when it is reported as {cause}",
            [
                {"alertname": "KubeNodeNotReady", "node": "node-b"},
                {"alertname": alert, "cause": cause, "root": "01", "node": "node-b"},
                {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "kubelet"},
            ],
            ["KubeNodeNotReady"],
        )
        for alert, cause in [
            ("TerminatingStuck", "NodeKubeletSilent"),
            ("TerminatingStuck", "NodeNotReady"),
            ("TerminatingStuck", "NodeShutDown"),
            ("TerminatingStuck", "KubeletStopped"),
            ("TerminatingPodHeldOnNode", "RuntimeNotResponding"),
        ]
    ),
    (
        "of two names of one root the node's own pages",
        [
            {"alertname": "TerminatingStuck", "cause": "NodeKubeletSilent", "root": "01", "node": "node-b"},
            {"alertname": "TerminatingPodHeldOnNode", "cause": "KubeletStopped", "node": "node-b"},
            {"alertname": "TerminatingStuck", "cause": "PodCleanupNotFinished", "root": "02", "node": "node-c"},
            {"alertname": "TerminatingPodHeldOnNode", "cause": "NestedMount", "node": "node-c"},
        ],
        ["TerminatingPodHeldOnNode KubeletStopped", "TerminatingPodHeldOnNode NestedMount"],
    ),
    *(
        (
            f"what the kubelet says of it in an Event ({cause}) is one more name of it",
            [
                {"alertname": "TerminatingStuck", "cause": cause, "root": "01", "node": "node-b"},
                {"alertname": "TerminatingPodHeldOnNode", "cause": "NestedMount", "node": "node-b"},
            ],
            ["TerminatingPodHeldOnNode NestedMount"],
        )
        for cause in ("PodKillFails", "PodUnmountFails")
    ),
    (
        "and not for another node",
        [
            {"alertname": "TerminatingStuck", "cause": "NodeKubeletSilent", "root": "01", "node": "node-b"},
            {"alertname": "TerminatingPodHeldOnNode", "cause": "KubeletStopped", "node": "node-c"},
            {"alertname": "TerminatingStuck", "cause": "PodCleanupNotFinished", "root": "02", "node": "node-b"},
        ],
        [
            "TerminatingPodHeldOnNode KubeletStopped",
            "TerminatingStuck NodeKubeletSilent",
            "TerminatingStuck PodCleanupNotFinished",
        ],
    ),
    (
        "a runtime that does not answer pages once, and keeps no other source silent",
        [
            {"alertname": "TerminatingStuck", "cause": "RuntimeNotResponding", "root": "01", "node": "node-b"},
            {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "cri"},
            {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "mounts"},
        ],
        ["TerminatingStuck RuntimeNotResponding", "WhyTerminatingSourceSilent"],
    ),
    (
        "an API server that is down pages once, and not for each agent",
        [
            {"alertname": "KubeAPIDown"},
            {"alertname": "WhyTerminatingApiSilent"},
            {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "api"},
            {"alertname": "WhyTerminatingSourceSilent", "node": "node-c", "source": "api"},
        ],
        ["KubeAPIDown"],
    ),
    (
        # The rule itself leaves out what the service reported before.
        "what only a node reports pages all the same",
        [
            {"alertname": "KubeAPIDown"},
            {"alertname": "WhyTerminatingApiSilent"},
            {"alertname": "TerminatingPodHeldOnNode", "cause": "KubeletNotRunning", "node": "node-b"},
        ],
        ["KubeAPIDown", "TerminatingPodHeldOnNode KubeletNotRunning"],
    ),
    (
        "a dead API pages once",
        [
            {"alertname": "KubeAggregatedAPIDown", "name": "v1beta1.metrics.k8s.io"},
            {"alertname": "TerminatingStuck", "cause": "ApiServiceWithoutEndpoints", "root": "03"},
        ],
        ["KubeAggregatedAPIDown"],
    ),
    (
        "who has not heard the API server says nothing more",
        [
            {"alertname": "WhyTerminatingApiSilent"},
            {"alertname": "WhyTerminatingNoLeader"},
            {"alertname": "TerminatingUnexplained", "state": "CannotTell"},
            {"alertname": "TerminatingStuck", "cause": "NodeUnreachable", "root": "04"},
        ],
        ["TerminatingStuck NodeUnreachable", "WhyTerminatingApiSilent"],
    ),
    (
        "a node's own alert is silenced by nothing",
        [
            {"alertname": "KubeNodeNotReady", "node": "node-b"},
            {"alertname": "TerminatingPodHeldOnNode", "node": "node-a", "cause": "FuseServerNotResponding"},
        ],
        ["KubeNodeNotReady", "TerminatingPodHeldOnNode FuseServerNotResponding"],
    ),
]


def names(key):
    """What the matchers of all rules name under this label."""
    matchers = [it for rule in RULES["inhibit_rules"] for it in rule["source_matchers"] + rule["target_matchers"]]
    values = [re.fullmatch(rf'{key}=~?"(.*)"', it) for it in matchers]
    return {name for value in values if value for name in value[1].split("|")}


def paged(address):
    with urllib.request.urlopen(f"{address}/api/v2/alerts?active=true&inhibited=false", timeout=10) as answer:
        alerts = [it["labels"] for it in json.load(answer)]
    return sorted(" ".join(filter(None, [it["alertname"], it.get("cause")])) for it in alerts)


def run(program, alerts, expected):
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        config = pathlib.Path(folder) / "alertmanager.yml"
        config.write_text(yaml.safe_dump({"route": {"receiver": "none"}, "receivers": [{"name": "none"}], **RULES}))
        arguments = [f"--config.file={config}", f"--storage.path={folder}", "--cluster.listen-address="]
        process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", WITH_TEMPLATES, program, *arguments, f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return tried(f"http://127.0.0.1:{port}", [{"labels": it} for it in alerts], expected)
        finally:
            process.terminate()
            process.wait(10)


def tried(address, alerts, expected):
    """What it pages at last: it takes a moment to start, and another to think."""
    request = urllib.request.Request(
        f"{address}/api/v2/alerts", json.dumps(alerts).encode(), {"Content-Type": "application/json"}
    )
    deadline = time.monotonic() + 20
    sent, pages = False, []
    while time.monotonic() < deadline and pages != expected:
        try:
            if not sent:
                urllib.request.urlopen(request, timeout=10).close()
                sent = True
            pages = paged(address)
        except OSError:
            pass
        time.sleep(0.2)
    return pages


def main(program):
    unknown = {name for name in names("alertname") if not name.startswith("Kube")} - OURS
    assert not unknown, f"no alert is called {unknown}"
    missing = [cause for cause in names("cause") if not (ROOT / f"docs/causes/{cause}.md").exists()]
    assert not missing, f"no cause is called {missing}"
    for name, alerts, expected in CASES:
        pages = run(program, alerts, expected)
        assert pages == expected, f"{name}: it pages {pages}"
    print(f"inhibition: {len(CASES)} cases")


main(sys.argv[1])

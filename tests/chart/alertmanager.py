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
    *(
        (
            f"a node that is not ready pages once when its agent reports {cause}",
            [
                {"alertname": "KubeNodeNotReady", "node": "node-b"},
                {"alertname": "TerminatingPodHeldOnNode", "cause": cause, "node": "node-b"},
                {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "kubelet"},
            ],
            ["KubeNodeNotReady"],
        )
        for cause in ("KubeletStopped", "RuntimeNotResponding")
    ),
    (
        "and not for another node, nor for what its rule decides",
        [
            {"alertname": "KubeNodeUnreachable", "node": "node-b"},
            {"alertname": "TerminatingPodHeldOnNode", "cause": "KubeletStopped", "node": "node-c"},
            {"alertname": "TerminatingStuck", "root": "01", "kind": "Node"},
        ],
        ["KubeNodeUnreachable", "TerminatingPodHeldOnNode KubeletStopped", "TerminatingStuck 01"],
    ),
    (
        "a runtime that does not answer pages once, and keeps no other source silent",
        [
            {"alertname": "TerminatingPodHeldOnNode", "cause": "RuntimeNotResponding", "node": "node-b"},
            {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "cri"},
            {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "mounts"},
        ],
        ["TerminatingPodHeldOnNode RuntimeNotResponding", "WhyTerminatingSourceSilent"],
    ),
    (
        "a kubelet that is stopped pages once",
        [
            {"alertname": "TerminatingPodHeldOnNode", "cause": "KubeletStopped", "node": "node-b"},
            {"alertname": "WhyTerminatingSourceSilent", "node": "node-b", "source": "kubelet"},
        ],
        ["TerminatingPodHeldOnNode KubeletStopped"],
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
        "a service that cannot reach the API server pages once",
        [
            {"alertname": "WhyTerminatingApiSilent"},
            {"alertname": "WhyTerminatingNoLeader"},
            {"alertname": "TerminatingUnexplained", "state": "CannotTell"},
            {"alertname": "TerminatingStuck", "root": "04", "kind": "Node"},
        ],
        ["TerminatingStuck 04", "WhyTerminatingApiSilent"],
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
    return sorted(" ".join(filter(None, [it["alertname"], it.get("cause"), it.get("root")])) for it in alerts)


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
    selected = re.findall(r'cause=~?"([^"]*)"', (ROOT / "deploy/chart/files/alerts.yaml").read_text())
    causes = names("cause") | {cause for causes in selected for cause in causes.split("|")}
    missing = [cause for cause in causes if not (ROOT / f"docs/causes/{cause}.md").exists()]
    assert not missing, f"no cause is called {missing}"
    for name, alerts, expected in CASES:
        pages = run(program, alerts, expected)
        assert pages == expected, f"{name}: it pages {pages}"
    print(f"inhibition: {len(CASES)} cases")


main(sys.argv[1])

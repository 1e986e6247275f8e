"""Runs every query of the dashboard and every alert rule in a real Prometheus, which scrapes real agents and services as
deploy/scrape-configs.yaml has it done, while a pod of the lab sticks; and asks that each finds what there is to find.

    prometheus.py PROMETHEUS    as root; build the workspace before
"""

import contextlib
import json
import pathlib
import re
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

import record
import scraped

FILES = record.ROOT / "deploy/chart/files"
# What Grafana puts in.
VARIABLES = {"$node": ".*", "$__rate_interval": "5s"}
PATIENCE = 60

# Panels that find nothing here: nothing of the kind is wrong.
QUIET = {"Agents whose API server is silent", "Agents whose scan hangs"}
HELD = {"cause": "VolumeHeldByProcess", "node": "lab-node"}
# What is pending, for it lasts a quarter of an hour before it fires.
ALWAYS = [
    ("TerminatingUnexplained", {"state": "CannotTell"}),
    ("WhyTerminatingSourceSilent", {"node": "deaf-node", "source": "cri"}),
]
WITH_SERVICE = [("TerminatingStuck", {"kind": "Pod"}), *ALWAYS]
WITHOUT = [("TerminatingPodHeldOnNode", {**HELD, "gate": "VolumesUnmounted"}), ("WhyTerminatingNoLeader", {}), *ALWAYS]


def staged(stack, folder, log):
    """Its scrape jobs, and the process of the service that reports the pod.

    Beside the agent of that pod's node one whose runtime never answers. Beside its service one of another cluster, which
    lacks a right and has no Lease.
    """
    kubeconfig, flags = record.pod_of_the_lab(stack)
    others = [flag for flag in flags if not flag.startswith("--cri-endpoint")]
    deaf = record.deaf_runtime(stack, folder)
    refused = {"path": "/apis/apiregistration.k8s.io", "do": "forbidden"}
    _, unseen = record.api_server(stack, folder, "unseen", "discovery-failure", log, [refused])
    # Both are the agent of one node, and an agent that starts takes over the Events that this node has. So this one has
    # read them (none) before the other writes its own.
    deaf_agent = record.agent(stack, [*others, deaf], log, {"node": "deaf-node"})
    until(True, lambda: re.search(r'_source_failures_total\{source="cri"\} [1-9]', metrics(deaf_agent.port)) is not None)
    agents = [record.agent(stack, flags, log, {"node": "lab-node"}), deaf_agent]
    service = record.service(stack, kubeconfig, log, {"pod": "aggregator-0"}, "--no-events")
    other = record.service(stack, unseen, log, {"pod": "aggregator-1"}, "--lease=why-terminating/none")
    return [job("why-terminating-agent", agents), job("why-terminating-aggregator", [service, other])], service.process


def job(name, targets):
    """As the file has it, but for how its targets are found and where its token is."""
    scrape = scraped.jobs()[name]
    del scrape["relabel_configs"]
    if "authorization" in scrape:
        scrape["authorization"] = {"credentials": "prometheus"}
    return {**scrape, "static_configs": [{"targets": [f"127.0.0.1:{it.port}"], "labels": it.labels} for it in targets]}


def prometheus(stack, program, folder, jobs, log):
    """Its address."""
    config = folder / "prometheus.yml"
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config.write_text(yaml.safe_dump({"global": every, "rule_files": [str(FILES / "alerts.yaml")], "scrape_configs": jobs}))
    port = record.free_port()
    listen = f"--web.listen-address=127.0.0.1:{port}"
    data = f"--storage.tsdb.path={folder}/data"
    stack.enter_context(record.running(program, f"--config.file={config}", data, listen, log=log))
    return f"http://127.0.0.1:{port}"


def metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def get(address, path, **parameters):
    try:
        with urllib.request.urlopen(f"{address}{path}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as refused:
        sys.exit(f"{parameters}: {refused.read().decode()}")


def queries():
    """Each query of the dashboard with the panel it stands in."""
    dashboard = json.loads((FILES / "dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            text = target["expr"]
            for name, value in VARIABLES.items():
                text = text.replace(name, value)
            assert "$" not in text, f"{panel['title']}: a variable that is not set here: {text}"
            yield panel["title"], text


def finds(address, query):
    """Whether it finds something; `or vector(0)` is for the screen, and finds something always."""
    return bool(get(address, "/api/v1/query", query=query.removesuffix(" or vector(0)"))["result"])


def nothing(address):
    """The panels that find nothing."""
    return {title for title, query in queries() if not finds(address, query)}


def rules(address):
    return [rule for group in get(address, "/api/v1/rules")["groups"] for rule in group["rules"]]


def pending(address):
    """The alerts that wait for their time, with the labels that say of what they are."""
    alerts = [alert["labels"] for rule in rules(address) for alert in rule["alerts"]]
    of = [{key: value for key, value in it.items() if key not in ("alertname", "severity", "root")} for it in alerts]
    return by_name((it["alertname"], what) for it, what in zip(alerts, of))


def by_name(alerts):
    return sorted(alerts, key=lambda alert: alert[0])


def until(wanted, what):
    """Asks until it is so; says what it is at last."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = None
        with contextlib.suppress(OSError):
            found = what()
        if found == wanted or time.monotonic() > deadline:
            assert found == wanted, f"it is {found} and should be {wanted}"
            return
        time.sleep(0.5)


def look(address, process):
    until(by_name(WITH_SERVICE), lambda: pending(address))
    until(QUIET, lambda: nothing(address))
    for title, query in queries():
        if title in QUIET:
            # Their other half: what they count is there.
            bare = re.search(r"count\((.*) [=>]+ 0\)", query)[1]
            assert finds(address, bare), bare
    for rule in rules(address):
        assert rule["health"] == "ok", rule
        # A rule that finds nothing must not be one that asks for a name that no program exports.
        for name in re.findall(r"why_terminating_\w+", rule["query"]):
            assert finds(address, name), f"{rule['name']}: {name}"
    process.terminate()
    until(by_name(WITHOUT), lambda: pending(address))
    print(f"dashboard: {len(list(queries()))} queries and {len(rules(address))} rules found what there is")


def main(program):
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        folder = pathlib.Path(folder)
        log = open(folder / "log", "w")
        try:
            jobs, process = staged(stack, folder, log)
            look(prometheus(stack, program, folder, jobs, log), process)
        except BaseException:
            print((folder / "log").read_text()[-5000:])
            raise


main(sys.argv[1])

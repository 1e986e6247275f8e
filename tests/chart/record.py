"""Records what agent and service export while pods of the lab stick and go, as series for `promtool test rules`.

    record.py [lab] [late] [cluster]    writes that part of tests/chart/recorded.yaml; without a word all three. The lab's
                                        takes four minutes and the lab, the second half an hour, of which the lab for the
                                        first minute, the last seven minutes; build the workspace before

Of the first and the last a sample is taken every four seconds (of the lab) or six and recorded as one of a minute, which is how
often the chart lets Prometheus scrape: what an alert waits for half an hour takes two or three minutes here. The pauses
between the looks of an agent are as much shorter. Times that a program itself exports, as `api_silent_seconds`, are real. Of
the second, minutes are minutes.
"""

import contextlib
import datetime
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / os.environ.get("TARGET", os.environ.get("CARGO_TARGET_DIR", "target")) / "debug"
# The recorded metrics: no alert needs costs and build.
RECORDED = re.compile(
    r"why_terminating_(findings|source_failures_total|scan_duration_seconds_count"
    r"|cluster_(root_victims|unexplained_objects|agent_findings|api_silent_seconds|leader))$"
)
# Samples after which the pod of the lab is cured, and the API server of one service ends.
CURED, AWAY = 25, 1
# Minutes since an Event was written: with its record's first sample, and when a real API server forgets it.
OLD, FORGOTTEN = 35, 60


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


class Target:
    """What is scraped: its series have these labels besides their own."""

    def __init__(self, port, labels, process, tls=False):
        self.port, self.labels, self.process, self.tls = port, labels, process, tls
        self.samples = {}

    def scrape(self, number):
        context = ssl._create_unverified_context() if self.tls else None
        kind = http.client.HTTPSConnection if self.tls else http.client.HTTPConnection
        connection = kind("127.0.0.1", self.port, timeout=3.5, **({"context": context} if self.tls else {}))
        # The fake API server takes each token for the name of a user with all rights.
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/metrics", headers={"Authorization": "Bearer prometheus"})
            answer = connection.getresponse()
            if answer.status == 200:
                self.take(number, answer.read().decode())
        connection.close()

    def take(self, number, text):
        for line in text.splitlines():
            sample = re.match(r"(\w+)(?:\{(.*)\})? (\S+)$", line)
            if sample and RECORDED.match(sample[1]):
                own = dict(re.findall(r'(\w+)="([^"]*)"', sample[2] or ""))
                labels = ", ".join(f'{key}="{value}"' for key, value in sorted({**own, **self.labels}.items()))
                self.samples.setdefault(f"{sample[1]}{{{labels}}}", {})[number] = float(sample[3])

    def series(self, samples):
        return [{"series": name, "values": compact(values, samples)} for name, values in sorted(self.samples.items())]


def compact(values, samples):
    """As promtool writes series: `7x3` is 7 four times; `_` is no sample, and the first of them after some is stale."""
    words = []
    for number in range(samples):
        value = values.get(number)
        missing = "stale" if value is None and words and words[-1][0] not in ("stale", "_") else "_"
        word = missing if value is None else f"{value:g}"
        if words and words[-1][0] == word:
            words[-1][1] += 1
        else:
            words.append([word, 0])
    return " ".join(word if more == 0 else f"{word}x{more + (word == '_')}" for word, more in words)


@contextlib.contextmanager
def running(*command, log):
    process = subprocess.Popen([str(it) for it in command], stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()


def service(stack, kubeconfig, log, labels, *arguments):
    port = free_port()
    command = [BUILT / "why-terminating-aggregator", "serve", f"--listen=127.0.0.1:{port}", f"--kubeconfig={kubeconfig}"]
    process = stack.enter_context(running(*command, *arguments, log=log))
    return Target(port, labels, process, tls=True)


def agent(stack, flags, log, labels):
    port = free_port()
    quick = ["--first-scan=1s", "--scan-interval=2s", "--scan-interval-max=20s", "--sweep-interval=40s", "--scans=1"]
    command = [BUILT / "why-terminating-agent", "run", *flags, *quick, "--event-spread=0s", f"--listen=127.0.0.1:{port}"]
    process = stack.enter_context(running(*command, log=log))
    return Target(port, labels, process)


def api_server(stack, folder, name, recording, log, faults=()):
    """A fake API server of its own, and how to reach it. It has a recording, or what lies in the folder of that name."""
    kubeconfig = folder / f"{name}.kubeconfig"
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "faults.json").write_text(json.dumps(list(faults)))
    recorded = ["--recording", recording] if recording else []
    command = [BUILT / "apiserver", "--store", folder / name, *recorded, "--kubeconfig", kubeconfig]
    process = stack.enter_context(running(*command, log=log))
    while not kubeconfig.exists():
        time.sleep(0.1)
    return process, kubeconfig


def lease(kubeconfig):
    """The Lease that the chart makes, and the arguments of a service that holds it."""
    server = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    namespace, name = "why-terminating", "why-terminating-aggregator"
    it = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": namespace}}
    path = f"{server}/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer admin"}
    urllib.request.urlopen(urllib.request.Request(path, json.dumps(it).encode(), headers))
    return [f"--lease={namespace}/{name}"]


def pod_of_the_lab(stack):
    """One that a process holds, until the stack ends: how to reach its API server, and the flags of its agent."""
    stack.callback(subprocess.run, [BUILT / "lab", "down", "--all"], check=True)
    subprocess.run([BUILT / "lab", "up", "cwd"], check=True)
    said = subprocess.run([BUILT / "lab", "env"], check=True, capture_output=True, text=True).stdout
    environment = dict(re.findall(r"export (\w+)='(.*)'", said))
    return environment["KUBECONFIG"], environment["LAB_AGENT_ARGS"].split()


def deaf_runtime(stack, folder):
    """A flag of the agent: the socket of a runtime that takes every question and never answers."""
    deaf = socket.socket(socket.AF_UNIX)
    deaf.bind(str(folder / "deaf.sock"))
    deaf.listen(64)
    stack.callback(deaf.close)
    return f"--cri-endpoint=unix://{folder}/deaf.sock"


def lab(stack, folder, log):
    """A pod that a process holds and that is cured; and an agent whose runtime never answers."""
    kubeconfig, flags = pod_of_the_lab(stack)
    deaf = deaf_runtime(stack, folder)
    others = [flag for flag in flags if not flag.startswith("--cri-endpoint")]
    targets = {
        "a pod of the lab": [
            agent(stack, flags, log, {"node": "lab-node"}),
            service(stack, kubeconfig, log, {"pod": "aggregator-0"}, "--no-events"),
            service(stack, kubeconfig, log, {"pod": "aggregator-1"}, "--no-events"),
        ],
        "a runtime that does not answer": [
            agent(stack, [*others, deaf], log, {"node": "lab-node"}),
        ],
    }
    cure = threading.Thread(target=subprocess.run, args=([BUILT / "lab", "down", "cwd"],))
    return follow(targets, 44, 4, {CURED: cure.start})


def late(stack, folder, log):
    """A finding of an agent of the lab that has ended. The age of the report is set, not waited for."""
    with contextlib.ExitStack() as staged:
        kubeconfig, flags = pod_of_the_lab(staged)
        agent(staged, flags, log, {"node": "lab-node"})
        objects = pathlib.Path(kubeconfig).parent / "api"
        while not list(objects.glob("events/default/*.json")):
            time.sleep(0.5)
        # The agent would end it.
        shutil.copytree(objects, folder / "kept")
    [file] = folder.glob("kept/events/default/*.json")
    event = json.loads(file.read_text())
    written = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=OLD)
    event["eventTime"] = written.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    file.write_text(json.dumps(event))
    _, kubeconfig = api_server(stack, folder, "kept", None, log)
    target = service(stack, kubeconfig, log, {"pod": "aggregator-0"}, "--no-events")
    # The fake one forgets nothing by itself.
    return follow({"a finding that is not renewed": [target]}, FORGOTTEN - OLD + 8, 60, {FORGOTTEN - OLD: file.unlink})


def cluster(stack, folder, log):
    """An API server that ends; one of two, each with a replica; and one that has no Lease and does not show everything."""
    ends, away = api_server(stack, folder, "away", "baseline", log)
    _, stays = api_server(stack, folder, "stays", "finalizer-and-webhook", log)
    one, other = lease(away), lease(stays)
    refused = {"path": "/apis/apiregistration.k8s.io", "do": "forbidden"}
    _, unseen = api_server(stack, folder, "unseen", "discovery-failure", log, [refused])
    targets = {
        "an API server that ends": [service(stack, away, log, {"pod": "aggregator-0"}, "--no-events")],
        # It cannot tell the end of its API server from a cut network.
        "one replica that hears no more": [
            service(stack, away, log, {"pod": "aggregator-0"}, *one),
            service(stack, stays, log, {"pod": "aggregator-1"}, *other),
        ],
        "no Lease, and a right that is missing": [
            service(stack, unseen, log, {"pod": "aggregator-0"}, "--lease=why-terminating/none"),
        ],
    }
    for it in [target for many in targets.values() for target in many]:
        # It has heard its API server once.
        while not any("leader" in name for name in it.samples):
            it.scrape(0)
            time.sleep(0.2)
    return follow(targets, 66, 6, {AWAY: ends.kill})


def follow(targets, samples, every, happens):
    """Scrapes them together, and lets happen what is to happen after so many samples."""
    begin = time.monotonic()
    for number in range(samples):
        time.sleep(max(0, begin + number * every - time.monotonic()))
        happens.get(number, lambda: None)()
        scrapes = [threading.Thread(target=it.scrape, args=(number,)) for many in targets.values() for it in many]
        for scrape in scrapes:
            scrape.start()
        for scrape in scrapes:
            scrape.join()
    return {name: [series for target in many for series in target.series(samples)] for name, many in targets.items()}


def main(parts):
    for part in parts:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            folder = pathlib.Path(folder)
            try:
                keep(part(stack, folder, open(folder / "log", "w")))
            except BaseException:
                print((folder / "log").read_text()[-5000:])
                raise


def keep(recorded):
    """Beside what is there by now: of two that run together each writes its part."""
    file = ROOT / "tests/chart/recorded.yaml"
    before = yaml.safe_load(file.read_text()) if file.exists() else {}
    text = "# Written by tests/chart/record.py, which says how.\n"
    file.write_text(text + yaml.safe_dump(before | recorded, width=118, sort_keys=False))


PARTS = {"lab": lab, "late": late, "cluster": cluster}
if __name__ == "__main__":
    main([PARTS[word] for word in sys.argv[1:]] or PARTS.values())

"""Runs every query of the dashboard and loads the alert rules in a real Prometheus, which scrapes what agent and
aggregator export (tests/chart/metrics, written by their own tests), and asks that each query finds something.

    prometheus.py PROMETHEUS
"""

import contextlib
import http.server
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ROOT / "deploy/chart/files"
EXPORTS = {job: (ROOT / f"tests/chart/metrics/{job}.prom").read_bytes() for job in ("agent", "aggregator")}
# What Grafana puts in.
VARIABLES = {"$node": ".*", "$__rate_interval": "5s"}
# A rate needs two scrapes, and Prometheus offers a sample a little later than it has scraped it.
PATIENCE = 40


class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(EXPORTS[self.path.strip("/")])

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


@contextlib.contextmanager
def prometheus(program):
    """Its address; it and what it scrapes end with the block."""
    exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    # The node is a label of the target, as the chart's PodMonitor makes it.
    labels = {"agent": {"node": "node-a"}, "aggregator": {"pod": "aggregator-0"}}
    jobs = [
        {
            "job_name": job,
            "metrics_path": f"/{job}",
            "static_configs": [{"targets": [f"127.0.0.1:{exporter.server_port}"], "labels": labels[job]}],
        }
        for job in EXPORTS
    ]
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "prometheus.yml"
        config.write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [str(FILES / "alerts.yaml")],
                    "scrape_configs": jobs,
                }
            )
        )
        port = free_port()
        log = open(pathlib.Path(folder) / "log", "w+")
        process = subprocess.Popen(
            [
                program,
                f"--config.file={config}",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )
        try:
            yield f"http://127.0.0.1:{port}", lambda: (process.poll(), log.seek(0), log.read())
        finally:
            process.terminate()
            process.wait(10)
            exporter.shutdown()


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


# Nothing is wrong in what is scraped, so these find nothing there.
QUIET = {"Agents whose API server is silent", "Agents whose scan hangs"}


def main(program):
    with prometheus(program) as (address, state):
        deadline = time.monotonic() + PATIENCE
        asked = list(queries())
        while True:
            targets, nothing = [], None
            with contextlib.suppress(OSError):
                targets = get(address, "/api/v1/targets")["activeTargets"]
                nothing = {title for title, query in asked if not finds(address, query)}
            # The second scrape of one program may come after that of the other.
            if nothing == QUIET or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        assert nothing is not None, state()
        assert all(it["health"] == "up" for it in targets), targets
        if nothing != QUIET:
            sys.exit(f"queries of the dashboard that find nothing: {nothing - QUIET}; that find something: {QUIET - nothing}")
        for name in QUIET:
            # Their other half: what they count is there.
            [query] = [query for title, query in asked if title == name]
            bare = re.search(r"count\((.*) [=>]+ 0\)", query)[1]
            assert finds(address, bare), bare
        rules = [rule for group in get(address, "/api/v1/rules")["groups"] for rule in group["rules"]]
        broken = [rule for rule in rules if rule["health"] == "err"]
        assert rules and not broken, broken
        print(f"dashboard: {len(asked)} queries ran against what the programs export; {len(rules)} rules loaded")


main(sys.argv[1])

"""What deploy/scrape-configs.yaml makes of the pods that the chart makes, by promtool.

    scraped.py PROMTOOL

Debian's knows no Kubernetes, so each job is given what Kubernetes' discovery would find, one target for each port.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml
from chart import NAME, ROOT, objects, render

FILE = ROOT / "deploy/scrape-configs.yaml"


def jobs():
    """Each by its name, without what finds its targets."""
    found = yaml.safe_load(FILE.read_text())["scrape_configs"]
    for job in found:
        [pods] = job.pop("kubernetes_sd_configs")
        assert pods == {"role": "pod", "namespaces": {"names": [NAME]}}, pods
    return {job["job_name"]: job for job in found}


def targets():
    """Of the pods of agent and service, and of one of each that has ended."""
    found = []
    pods = [it for it in objects(render({})) if it["kind"] in ("DaemonSet", "Deployment")]
    for pod in (it["spec"]["template"] for it in pods):
        labels = {re.sub(r"\W", "_", f"label_{key}"): value for key, value in pod["metadata"]["labels"].items()}
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", [{}]):
                for phase in ("Running", "Failed"):
                    address = f"192.0.2.1:{port['containerPort']}" if port else "192.0.2.1"
                    of = {**labels, "name": "a", "node_name": "node-a", "phase": phase, "container_port_name": port.get("name", "")}
                    meta = {f"__meta_kubernetes_pod_{key}": value for key, value in of.items()}
                    found.append({"targets": [address], "labels": meta})
    return found


def scraped(promtool, config, job):
    """Address and labels of each target that is left."""
    asked = [promtool, "check", "service-discovery", "--timeout=1s", config, job]
    said = subprocess.run(asked, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    left = [it["labels"] for it in json.loads(said.stdout) if it["labels"]]
    shown = [{key: value for key, value in it.items() if not key.startswith("__")} for it in left]
    return [(f"{it['__scheme__']}://{it['__address__']}{it['__metrics_path__']}", own) for it, own in zip(left, shown)]


def main(promtool):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "prometheus.yml"
        made = [{**job, "static_configs": targets()} for job in jobs().values()]
        config.write_text(yaml.safe_dump({"scrape_configs": made}))
        # Its token is where Prometheus runs.
        subprocess.run([promtool, "check", "config", "--syntax-only", config], stdout=subprocess.DEVNULL, check=True)
        expected = {
            "why-terminating-agent": ("http://192.0.2.1:9753/metrics", {"node": "node-a"}),
            "why-terminating-aggregator": ("https://192.0.2.1:8443/metrics", {"pod": "a"}),
        }
        for name, (address, labels) in expected.items():
            found = scraped(promtool, config, name)
            instance = address.split("/")[2]
            assert found == [(address, {**labels, "instance": instance, "job": name})], (name, found)
    print(f"scraped: {len(expected)} jobs, each its own pods")


if __name__ == "__main__":
    main(sys.argv[1])

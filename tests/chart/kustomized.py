"""Renders every kustomization of deploy/ with kubectl, and compares it with what the chart makes of the same choice.

    kustomized.py KUBECTL
"""

import subprocess
import sys

import yaml
from chart import BASE, PLUGIN_ROLE, ROOT, objects, render

# As deploy/base: without Helm, the agent alone, its namespace with it.
AGENT = {**BASE, "aggregator": {"enabled": False}}
SERVICE = {**BASE, "agent": {"enabled": False}, "namespace": {"create": False}}

# The folders for 1.29 and older are for all of them, so nothing is in them that the oldest refuses.
OLDEST = {"eventPolicy": {"enabled": "auto"}, "kubeVersion": "1.24.17"}

# Each kustomization, and the values that say the same.
KUSTOMIZATIONS = {
    "deploy": AGENT,
    "deploy/base": {**AGENT, "eventPolicy": {"enabled": False}},
    "deploy/before-1.30": {**AGENT, **OLDEST},
    "deploy/kernel-stacks": {**AGENT, "agent": {"kernelStacks": True}},
    "deploy/kubelet-metrics": {**AGENT, "agent": {"kubeletMetrics": True}},
    "deploy/aggregator": SERVICE,
    "deploy/aggregator-before-1.30": {**SERVICE, **OLDEST},
    "deploy/plugin-role": {**SERVICE, "aggregator": {"enabled": False}, **PLUGIN_ROLE},
}
# A component, by itself of no use: it is in those above.
COMPONENTS = {"deploy/event-policy"}
ONLY_HELM = ("helm.sh/chart", *(f"app.kubernetes.io/{label}" for label in ("managed-by", "instance", "version")))


def kustomize(kubectl, folder):
    made = subprocess.run([kubectl, "kustomize", folder], cwd=ROOT, capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"kubectl kustomize {folder}: {made.stderr.strip()}")
    return [it for it in yaml.safe_load_all(made.stdout) if it]


def named(made):
    found = {}
    for it in made:
        metadata = it["metadata"]
        if "helm.sh/hook" in metadata.get("annotations", {}):
            # `helm test` is Helm's.
            continue
        for labelled in (metadata, it.get("spec", {}).get("template", {}).get("metadata", {})):
            labelled["labels"] = {key: value for key, value in labelled.get("labels", {}).items() if key not in ONLY_HELM}
        found[it["kind"], metadata.get("namespace"), metadata["name"]] = it
    return found


def main(kubectl):
    there = {str(file.parent.relative_to(ROOT)) for file in (ROOT / "deploy").rglob("kustomization.yaml")}
    assert there == {*KUSTOMIZATIONS, *COMPONENTS}, f"which values make these? {there ^ {*KUSTOMIZATIONS, *COMPONENTS}}"
    for folder in sorted(COMPONENTS):
        assert kustomize(kubectl, folder)
    for folder, values in KUSTOMIZATIONS.items():
        ours, charts = named(kustomize(kubectl, folder)), named(objects(render(values)))
        if values.get("agent", {}).get("enabled") is False:
            # The chart also makes the agents' policy with the service alone; the kustomizations have it in deploy/.
            charts = {key: it for key, it in charts.items() if key[2] != "why-terminating-findings"}
        assert set(ours) == set(charts), f"{folder} and the chart differ in {set(ours) ^ set(charts)}"
        for key, it in ours.items():
            assert it == charts[key], f"{folder}: {key} is not the chart's:\n{yaml.safe_dump(it)}\n{yaml.safe_dump(charts[key])}"
    print(f"kustomize: {len(KUSTOMIZATIONS)} kustomizations, each what the chart makes")


if __name__ == "__main__":
    main(sys.argv[1])

"""What an upgrade of the chart has to leave as it is, and the chart that it starts from."""

import contextlib
import io
import pathlib
import subprocess
import tarfile
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# What an upgrade is to change in the end, whatever else it does: each program starts anew.
CHANGED = {"agent": {"podAnnotations": {"tried": "upgrade"}}, "aggregator": {"podAnnotations": {"tried": "upgrade"}}}


def kept(objects):
    """By kind and name what of it an API server refuses to change, or what others find it by."""
    found = {}
    for it in objects:
        if "helm.sh/hook" in it["metadata"].get("annotations", {}):
            # Made for one run of `helm test`.
            continue
        spec = it.get("spec", {})
        keeps = {}
        for field in ("selector", "podSelector"):
            if selector := spec.get(field):
                keeps[field] = selector.get("matchLabels", selector)
        if it["kind"] in ("DaemonSet", "Deployment"):
            keeps["serviceAccountName"] = spec["template"]["spec"]["serviceAccountName"]
            labels = spec["template"]["metadata"]["labels"]
            assert keeps["selector"].items() <= labels.items(), f"{it['metadata']['name']} does not select its pods"
        if role := it.get("roleRef"):
            keeps["roleRef"] = f"{role['kind']}/{role['name']}"
            keeps["subjects"] = [f"{subject['kind']}/{subject['name']}" for subject in it["subjects"]]
        namespace, name = it["metadata"].get("namespace"), it["metadata"]["name"]
        found[f"{it['kind']} {namespace}/{name}" if namespace else f"{it['kind']} {name}"] = keeps
    return found


def check_kept(rendered):
    """What all sets of values together make has the names and selectors of kept.yaml, and no others."""
    found = {}
    for objects in rendered:
        for key, keeps in kept(objects).items():
            assert found.setdefault(key, keeps) == keeps, f"{key}: values change what an upgrade cannot: {keeps}"
    listed = yaml.safe_load((HERE / "kept.yaml").read_text())
    for key in sorted({*listed, *found}):
        ours, theirs = found.get(key), listed.get(key)
        assert ours == theirs, f"{key}: the chart has {ours}, kept.yaml {theirs}; that file says what a change of it breaks"


@contextlib.contextmanager
def previous_chart():
    """The last tag before this commit and the chart that it has; `None` where nothing has been released."""
    listed = ["git", "tag", "--list", "v[0-9]*", "--no-contains", "HEAD", "--sort=-version:refname"]
    tags = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    if not tags:
        yield None
        return
    packed = subprocess.run(["git", "archive", tags[0], "deploy/chart"], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        yield tags[0], pathlib.Path(folder) / "deploy/chart"

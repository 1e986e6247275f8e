"""Has Helm's engine install the chart of the last release on the fake API server, upgrade it to what is here, and uninstall it.

    released.py KUBECTL APISERVER

Nothing runs there, so that is about objects; `make e2e` does the same where pods run.
"""

import json
import subprocess
import sys

from applied import cluster
from chart import CHART, NAME
from helm_python import Config, config
from upgrade import CHANGED, kept, previous_chart


def without_schemas(pairs):
    """The fake has none. Helm can do without, but its Python library has no word for it."""
    return {**pairs, "disable_openapi_validation": True} if "chart_repo_url" in pairs else pairs


def there(kubectl):
    """Everything of ours."""
    kinds = subprocess.run([*kubectl, "api-resources", "--verbs=list", "-o", "name"], capture_output=True, text=True, check=True)
    label = "app.kubernetes.io/part-of=why-terminating"
    asked = [*kubectl, "get", ",".join(kinds.stdout.split()), "-A", "-l", label, "-o", "json"]
    found = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)["items"]
    # Made up for each request, whatever label is asked for.
    return [it for it in found if it["kind"] != "ComponentStatus"]


def uids(objects):
    return {(it["kind"], it["metadata"].get("namespace"), it["metadata"]["name"]): it["metadata"]["uid"] for it in objects}


def main(kubectl, apiserver):
    options = config._opts
    config._opts = lambda **pairs: options(**without_schemas(pairs))
    with previous_chart() as previous, cluster(kubectl, apiserver) as command:
        tag, chart = previous or ("itself, as nothing has been released", CHART)
        # A typed client would write the release as a Secret in protobuf, which the fake does not read.
        with Config(namespace=NAME, kubeconfig_path=command[2], storage_driver="memory") as helm:
            helm.install(chart, NAME, CHANGED)
            before = there(command)
            helm.upgrade(CHART, NAME, {}, reset_values=True)
            after = there(command)
            keeps = kept(after)
            changed = {key: (it, keeps.get(key)) for key, it in kept(before).items() if keeps.get(key) != it}
            assert before and not changed, f"an upgrade from {tag} does not keep {changed}"
            # An object that was taken away and made anew would have another.
            assert uids(before).items() <= uids(after).items(), f"an upgrade from {tag} makes objects anew"
            pods = [it["spec"]["template"]["metadata"] for it in after if it["kind"] in ("DaemonSet", "Deployment")]
            assert len(pods) == 2 and all("tried" not in it.get("annotations", {}) for it in pods), "nothing was upgraded"
            helm.uninstall(NAME)
        left = there(command)
        assert not left, f"left by helm uninstall: {sorted(uids(left))}"
    print(f"helm: installed, upgraded from {tag}, {len(after)} objects of which {len(before)} stayed, uninstalled")


main(*sys.argv[1:])

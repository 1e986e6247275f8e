"""Has Helm's engine install the chart of the last release on the fake API server, upgrade it to what is here, and uninstall it.

    released.py KUBECTL APISERVER

Nothing runs there, so that is about objects; `make e2e` does the same where pods run.
"""

import json
import re
import shlex
import subprocess
import sys

from applied import apply, cluster
from chart import CHART, NAME, ROOT
from helm_python import Config, HelmError, config
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


def check_own_namespace(kubectl, apiserver):
    """A namespace that is there is refused, and given over by what deploy/README.md says."""
    values = {"namespace": {"create": True}}
    with cluster(kubectl, apiserver) as command:
        apply(command, "a namespace", [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}}])
        with Config(namespace=NAME, kubeconfig_path=command[2], storage_driver="memory") as helm:
            try:
                helm.install(CHART, NAME, values)
                sys.exit("Helm takes over a namespace that is there; deploy/README.md says that it does not")
            except HelmError as error:
                assert "exists and cannot be imported into the current release" in str(error), error
        text = (ROOT / "deploy/README.md").read_text().replace("\\\n", "")
        typed = re.findall(r"^kubectl ((?:label namespace .*managed-by|annotate namespace .*meta\.helm).*)$", text, re.M)
        assert len(typed) == 2, typed
        for line in typed:
            subprocess.run([*command, *shlex.split(line)], stdout=subprocess.DEVNULL, check=True)
        with Config(namespace=NAME, kubeconfig_path=command[2], storage_driver="memory") as helm:
            helm.install(CHART, NAME, values)
            level = "jsonpath={.metadata.labels.pod-security\\.kubernetes\\.io/enforce}"
            asked = subprocess.run([*command, "get", "namespace", NAME, "-o", level], capture_output=True, text=True, check=True)
            assert asked.stdout == "privileged", asked.stdout
            helm.uninstall(NAME)
        left = there(command)
        assert not left, f"left by helm uninstall: {sorted(uids(left))}"
    print("helm: a namespace that is there refused, and taken over when given")


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
    check_own_namespace(kubectl, apiserver)
    print(f"helm: installed, upgraded from {tag}, {len(after)} objects of which {len(before)} stayed, uninstalled")


main(*sys.argv[1:])

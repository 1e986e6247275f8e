"""The SecurityContextConstraints of the agent, by the rules of OpenShift's admission.

It tries them by priority, then from the strictest on, and gives a pod the first that it or its maker may use and that it fits.
A cluster-admin, and an operator that is one, may use all of them, so ours must not come first for pods of others.
"""

NAMESPACE, NAME = "why-terminating", "why-terminating-agent"
# Kinds of volumes that do not count in that order; neither does hostPID.
NOT_COUNTED = {"configMap", "downwardAPI", "emptyDir", "none", "projected", "secret"}
# One that counts, and gives nothing: Kubernetes mounts none since 1.22.
NEVER_MOUNTED = "scaleIO"
REFUSED = ["HostDirVolumePlugin", "HostIPC", "HostNetwork", "HostPorts", "PrivilegedContainer", "PrivilegeEscalation"]


def check_scc(made):
    by_name = {(it["kind"], it["metadata"].get("namespace"), it["metadata"]["name"]): it for it in made}
    scc = by_name["SecurityContextConstraints", None, NAME]
    pod = by_name["DaemonSet", NAMESPACE, NAME]["spec"]["template"]["spec"]

    # What the pod uses, and no more.
    added = {right for it in pod["containers"] for right in it["securityContext"]["capabilities"].get("add", [])}
    assert scc["allowHostPID"] and set(scc["allowedCapabilities"]) == added, scc
    assert not any(scc[f"allow{right}"] for right in REFUSED), scc
    used = {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
    assert set(scc["volumes"]) == used | {NEVER_MOUNTED}, scc["volumes"]

    # It comes after those that give nothing: restricted-v2 has one such volume, and a stricter user and SELinux context.
    assert set(scc["volumes"]) - NOT_COUNTED and not scc.get("priority"), scc
    assert scc["runAsUser"] == scc["seLinuxContext"] == {"type": "RunAsAny"}, scc
    # What it asked for beyond that would be put into the pods of others.
    assert not scc["readOnlyRootFilesystem"] and not scc["requiredDropCapabilities"] + scc["defaultAddCapabilities"], scc

    # Who may use it goes with the namespace: a namespace of its name may be anybody's later.
    assert not scc.get("users") and not scc.get("groups"), scc
    role, binding = (by_name[kind, NAMESPACE, f"{NAME}-scc"] for kind in ("Role", "RoleBinding"))
    [rule] = role["rules"]
    assert rule == {
        "apiGroups": ["security.openshift.io"],
        "resources": ["securitycontextconstraints"],
        "resourceNames": [NAME],
        "verbs": ["use"],
    }
    assert binding["roleRef"]["name"] == f"{NAME}-scc" and binding["roleRef"]["kind"] == "Role"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}]

    # A default node selector of the cluster would leave the agents of all other nodes pending.
    namespace = by_name["Namespace", None, NAMESPACE]
    assert namespace["metadata"]["annotations"] == {"openshift.io/node-selector": ""}, namespace

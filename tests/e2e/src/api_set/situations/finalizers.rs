//! Finalizers: who sets them, and what stands in the way of removing them.

use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use axum::{Json, Router, routing};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use super::super::objects::*;
use super::super::{Situation, ask};
use crate::cluster::Cluster;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "unrelated-crd",
            unrelated_crd,
            [ask("pod/held -n {ns}", "FinalizerOwnerUnknown", "Pod {ns}/held").never(&["install the same version"])],
        ),
        Situation::new(
            "three-names",
            three_names,
            [ask("cm/beta -n {ns}", "FinalizerOwnerUnknown", "beta").never(&["Deployment e2e-three-names/alpha"])],
        ),
        Situation::new(
            "operator-gone",
            operator_gone,
            [ask(
                "backups.gone.e2e.example.com/b -n {ns}",
                "FinalizerControllerGone",
                "ServiceAccount e2e-nowhere/gone-operator: does not exist",
            )
            .never(&["e2e-nowhere:operator may"])
            .then_typing(
                &["kubectl patch backups.gone.e2e.example.com b"],
                &["backups.gone.e2e.example.com b -n {ns}"],
            )],
        ),
        Situation::new(
            "operator-fails",
            operator_fails,
            [ask(
                "gears.fails.e2e.example.com/g -n {ns}",
                "FinalizerControllerFailing",
                "Deployment {ns}/gear-operator",
            )
            .saying(&["AccessDenied"])
            .never(&["install the same version"])],
        ),
        Situation::new(
            "crd-instance",
            crd_instance,
            [ask("crd/cogs.inst.e2e.example.com", "FinalizerControllerGone", "Cog {ns}/c")
                .then_typing(&["kubectl patch cogs.inst.e2e.example.com c"], &["crd cogs.inst.e2e.example.com"])],
        ),
        Situation::new(
            "finalizer-of-other-kind",
            of_other_kind,
            [
                ask("cm/other -n {ns}", "FinalizerNotForThisKind", "ConfigMap {ns}/other"),
                ask("cm/twice -n {ns}", "FinalizerListedTwice", "ConfigMap {ns}/twice"),
            ],
        ),
        Situation::new(
            "operator-needs",
            operator_needs,
            [ask("gauges.needs.e2e.example.com/g -n {ns}", "FinalizerControllerNeedsMissing", "e2e-vault/vault")],
        ),
        Situation::new(
            "operator-refused",
            operator_refused,
            [ask("cranks.refused.e2e.example.com/c -n {ns}", "FinalizerControllerBlocked", "{ns}")],
        ),
        Situation::new(
            "operator-not-leading",
            operator_not_leading,
            [ask("levers.leads.e2e.example.com/l -n {ns}", "FinalizerControllerNotLeading", "lever-operator")],
        ),
        Situation::new(
            "operator-unready",
            operator_unready,
            [ask("cams.unready.e2e.example.com/c -n {ns}", "FinalizerControllerNotReady", "cam-operator")],
        ),
        Situation::new(
            "update-invalid",
            update_invalid,
            [ask("rods.invalid.e2e.example.com/r -n {ns}", "UpdateFailsValidation", "{ns}/r")],
        ),
        Situation::new(
            "finalizer-returns",
            added_again,
            [ask("cm/back -n {ns}", "FinalizerAddedAgain", "e2e-finalizer-returns")],
        ),
        Situation::new("held-secret", held_secret, [ask("ns/{ns}", "FinalizerOfUnseenObjects", "secrets")]),
        Situation::new(
            "release",
            release,
            [ask("--before helm/web -n {ns}", "FinalizerOwnerInSameRelease", "Deployment {ns}/web-operator")],
        ),
        Situation::new(
            "namespace-metadata",
            namespace_metadata,
            [ask("ns/{ns}", "FinalizerOwnerUnknown", "Namespace {ns}").then_doing(
                &["patch namespace {ns} --type=merge -p {\"metadata\":{\"finalizers\":null}}"],
                &["namespace {ns}"],
            )],
        ),
        Situation::new(
            "namespace-spec",
            namespace_spec,
            [ask("ns/e2e-spec-held", "NamespaceSpecFinalizer", "Namespace e2e-spec-held").then_typing(
                &["kubectl get namespace e2e-spec-held -o json | kubectl patch --local"],
                &["namespace e2e-spec-held"],
            )],
        ),
        Situation::new(
            "claim-in-use",
            claim_in_use,
            [
                ask("resourceclaim/gpu -n {ns}", "ProtectedWhileInUse", "Pod {ns}/uses"),
                ask("gatewayclasses.gateway.networking.k8s.io/e2e-class", "ProtectedWhileInUse", "Gateway {ns}/g"),
                ask(
                    "gatewayclasses.gateway.networking.k8s.io/e2e-unused",
                    "ProtectedWithoutUsers",
                    "gateway-controller",
                ),
                ask("volumeattributesclass/e2e-in-use", "ProtectedWhileInUse", "PersistentVolumeClaim {ns}/data")
                    .then_doing(&["delete pvc data -n {ns}"], &["volumeattributesclass e2e-in-use"]),
            ],
        ),
        Situation::new(
            "job-managed",
            managed_job,
            [ask("pods -n {ns}", "JobTrackingFinalizer", "Pod {ns}/part").saying(&["e2e.example.com/queue"])],
        ),
        Situation::new(
            "plain-service",
            plain_service,
            [ask("svc/plain -n {ns}", "LoadBalancerCleanupPending", "Service {ns}/plain")
                .never(&["costs money"])
                .then_typing(&["kubectl patch service plain -n {ns}"], &["service plain -n {ns}"])],
        ),
    ]
}

fn unrelated_crd(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut pod = held("v1", "Pod", namespace, "held", &["e2e.example.com/hold"]);
    pod["spec"] = json!({"nodeName": "node-a", "containers": [{"name": "main", "image": "registry.invalid/none"}]});
    create(&[pod])?;
    define("things.unrelated.e2e.example.com", "Thing", "Namespaced")?;
    delete(&format!("pod held -n {namespace} --grace-period=1"))?;
    Ok(Staged::default())
}

fn three_names(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    for name in ["alpha", "beta", "gamma"] {
        let finalizer = format!("{name}.e2e.example.com/cleanup");
        create(&[deployment(namespace, name, &json!({})), held("v1", "ConfigMap", namespace, name, &[&finalizer])])?;
        delete(&format!("configmap {name} -n {namespace}"))?;
    }
    Ok(Staged::default())
}

/// An account that may do everything and runs nothing, and one in a namespace that is gone.
fn operator_gone(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("backups.gone.e2e.example.com", "Backup", "Namespaced")?;
    let [_, role, binding] = operator_rights("e2e-nowhere", "gone-operator", "gone.e2e.example.com");
    create(&[
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": namespace}}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": namespace},
            "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": namespace}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        }),
        role,
        binding,
        held("gone.e2e.example.com/v1", "Backup", namespace, "b", &["gone.e2e.example.com/cleanup"]),
    ])?;
    delete(&format!("backups.gone.e2e.example.com b -n {namespace}"))?;
    Ok(Staged::default())
}

/// Of a kind KIND.GROUP: its definition, an operator, and an object with the group's finalizer, which is deleted.
fn operated(namespace: &str, crd: &str, kind: &str, annotations: &Value) -> anyhow::Result<()> {
    define(crd, kind, "Namespaced")?;
    let (_, group) = crd.split_once('.').context("KIND.GROUP")?;
    let kind_name = kind.to_lowercase();
    let (name, object) = (format!("{kind_name}-operator"), &kind_name[..1]);
    create(&operator_rights(namespace, &name, group))?;
    create(&[
        deployment(namespace, &name, &json!({"annotations": annotations, "spec": {"serviceAccountName": name}})),
        held(&format!("{group}/v1"), kind, namespace, object, &[&format!("{group}/finalizer")]),
    ])?;
    lab::wait_for("the operator's pod", Duration::from_secs(60), || {
        std::thread::sleep(Duration::from_secs(1));
        let phases = kubectl(&format!("-n {namespace} get pods -o jsonpath={{.items[*].status.phase}}"))?;
        Ok(phases.contains("Running").then_some(()))
    })?;
    delete(&format!("{crd} {object} -n {namespace}"))?;
    std::thread::sleep(Duration::from_secs(2));
    Ok(())
}

/// Its controller reports so.
fn not_ready(what: &str, says: &str) -> anyhow::Result<Staged> {
    let now = crate::api_set::nodes::now()?;
    let failed = json!({
        "type": "Ready", "status": "False", "reason": "CleanupFailed", "message": says, "lastTransitionTime": now
    });
    set_status(what, &json!({"conditions": [failed]}))?;
    Ok(Staged::default())
}

fn operator_fails(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    operated(namespace, "gears.fails.e2e.example.com", "Gear", &json!({}))?;
    let says = "cannot delete bucket: AccessDenied: not authorized";
    not_ready(&format!("gears.fails.e2e.example.com g -n {namespace}"), says)
}

fn crd_instance(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("cogs.inst.e2e.example.com", "Cog", "Namespaced")?;
    create(&[held("inst.e2e.example.com/v1", "Cog", namespace, "c", &["inst.e2e.example.com/f"])])?;
    delete("crd cogs.inst.e2e.example.com")?;
    Ok(Staged::default())
}

/// A finalizer on a kind that its controller does not look at, and one that is there twice.
fn of_other_kind(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let twice = ["twice.e2e.example.com/it", "twice.e2e.example.com/it"];
    create(&[
        held("v1", "ConfigMap", namespace, "other", &["service.kubernetes.io/load-balancer-cleanup"]),
        held("v1", "ConfigMap", namespace, "twice", &twice),
    ])?;
    delete(&format!("configmap other twice -n {namespace}"))?;
    Ok(Staged::default())
}

fn operator_needs(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    operated(namespace, "gauges.needs.e2e.example.com", "Gauge", &json!({}))?;
    create(&[self::namespace("e2e-vault")])?;
    let says = "cannot revoke: Post https://vault.e2e-vault.svc:8200/v1/revoke: service \"vault\" not found";
    not_ready(&format!("gauges.needs.e2e.example.com g -n {namespace}"), says)
}

/// It wants to create a Job in a namespace that is being deleted.
fn operator_refused(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    operated(namespace, "cranks.refused.e2e.example.com", "Crank", &json!({}))?;
    let says = format!(
        "jobs.batch \"cleanup\" is forbidden: unable to create new content in namespace {namespace} because it is being \
         terminated"
    );
    let crank = held("refused.e2e.example.com/v1", "Crank", namespace, "c", &[]);
    let uid = uid(&format!("cranks.refused.e2e.example.com c -n {namespace}"))?;
    create(&[warning(&crank, &uid, "CleanupFailed", &says)?])?;
    Ok(Staged::default())
}

/// Its Lease is held in the name of its pod, and not renewed.
fn operator_not_leading(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    operated(namespace, "levers.leads.e2e.example.com", "Lever", &json!({}))?;
    let pod = kubectl(&format!("get pods -n {namespace} -o jsonpath={{.items[0].metadata.name}}"))?;
    let spec = json!({
        "holderIdentity": format!("{pod}_11111111-1111-1111-1111-111111111111"), "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T00:00:00.000000Z"
    });
    create(&[with(held("coordination.k8s.io/v1", "Lease", namespace, "lever-operator", &[]), "spec", spec)])?;
    Ok(Staged::default())
}

fn operator_unready(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    operated(namespace, "cams.unready.e2e.example.com", "Cam", &json!({"e2e/crashes": ""}))?;
    Ok(Staged::default())
}

/// Since its kind has a rule that it breaks, no update of it is accepted.
fn update_invalid(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let crd = "rods.invalid.e2e.example.com";
    operated(namespace, crd, "Rod", &json!({}))?;
    let rule = json!([{"rule": "self.metadata.name == 'x'", "message": "must be called x"}]);
    let path = "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations";
    let rules = json!([{"op": "add", "path": path, "value": rule}]).to_string();
    let output = Command::new("kubectl").args(["patch", "crd", crd, "--type=json", "-p", &rules]).output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::thread::sleep(Duration::from_secs(10));
    let refused = kubectl(&format!("-n {namespace} patch {crd} r {NO_FINALIZERS}")).err();
    let says = refused.context("the API server accepts the update")?.to_string();
    // kubectl leaves out the group, which a controller's client has.
    let (_, says) = says.split_once("The Rod ").with_context(|| says.clone())?;
    let says = &format!("Rod.invalid.e2e.example.com {says}");
    let rod = held("invalid.e2e.example.com/v1", "Rod", namespace, "r", &[]);
    create(&[warning(&rod, &uid(&format!("{crd} r -n {namespace}"))?, "ReconcileError", says)?])?;
    Ok(Staged::default())
}

const NO_FINALIZERS: &str = "--type=merge -p {\"metadata\":{\"finalizers\":null}}";

/// A mutating webhook puts it back into the update that takes it off.
fn added_again(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let review = |Json(mut review): Json<Value>| async move {
        let patch = json!([{"op": "add", "path": "/metadata/finalizers", "value": ["back.e2e.example.com/it"]}]);
        review["response"] = json!({
            "uid": review["request"]["uid"], "allowed": true, "patchType": "JSONPatch",
            "patch": BASE64_STANDARD.encode(patch.to_string())
        });
        Json(review)
    };
    let backend = Backend::start("finalizer-setter", Router::new().fallback(routing::post(review)))?;
    let mut hook = webhook(namespace, namespace, "Fail", &backend.client_config(), "UPDATE", "configmaps");
    hook["kind"] = json!("MutatingWebhookConfiguration");
    create(&[hook, held("v1", "ConfigMap", namespace, "back", &["back.e2e.example.com/it"])])?;
    std::thread::sleep(Duration::from_secs(3));
    delete(&format!("configmap back -n {namespace}"))?;
    std::thread::sleep(Duration::from_secs(2));
    kubectl(&format!("-n {namespace} patch configmap back {NO_FINALIZERS} --field-manager=operator"))?;
    Ok(Staged::until_the_end(backend))
}

/// The plugin does not read Secrets.
fn held_secret(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    create(&[held("v1", "Secret", namespace, "s", &["hold.e2e.example.com/secret"])])?;
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::default())
}

/// An operator, and an object that it must clean up, of one Helm release.
fn release(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let (crd, group, name) = ("sites.release.e2e.example.com", "release.e2e.example.com", "web-operator");
    define(crd, "Site", "Namespaced")?;
    create(&operator_rights(namespace, name, group))?;
    let mut all = [
        deployment(namespace, name, &json!({"spec": {"serviceAccountName": name}})),
        held(&format!("{group}/v1"), "Site", namespace, "s", &[&format!("{group}/finalizer")]),
    ];
    for object in &mut all {
        object["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
        object["metadata"]["annotations"] =
            json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": namespace});
    }
    create(&all)?;
    kubectl(&format!("-n {namespace} rollout status deployment {name} --timeout=60s"))?;
    Ok(Staged::default())
}

fn namespace_metadata(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let finalizers = json!({"metadata": {"finalizers": ["e2e.example.com/it"]}});
    kubectl(&format!("patch namespace {namespace} --type=merge -p {finalizers}"))?;
    delete(&format!("namespace {namespace}"))?;
    Ok(Staged::default())
}

fn namespace_spec(_: &Cluster, _: &str) -> anyhow::Result<Staged> {
    create(&[with(namespace("e2e-spec-held"), "spec", json!({"finalizers": ["kubernetes", "e2e.example.com/it"]}))])?;
    delete("namespace e2e-spec-held")?;
    Ok(Staged::default())
}

/// What a pod, and what a Gateway still uses.
fn claim_in_use(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    define("gatewayclasses.gateway.networking.k8s.io", "GatewayClass", "Cluster")?;
    define("gateways.gateway.networking.k8s.io", "Gateway", "Namespaced")?;
    let (version, finalizer) = ("gateway.networking.k8s.io/v1", "gateway-exists-finalizer.gateway.networking.k8s.io");
    let mut uses = pod(namespace, "uses", "node-a", &json!({}));
    uses["spec"]["resourceClaims"] = json!([{"name": "gpu", "resourceClaimName": "gpu"}]);
    let class = |name: &str| {
        let mut class = held(version, "GatewayClass", namespace, name, &[finalizer]);
        class["metadata"]["namespace"] = Value::Null;
        class
    };
    let requests = json!([{"name": "gpu", "exactly": {"deviceClassName": "none"}}]);
    let protected = &["resource.kubernetes.io/delete-protection"];
    create(&operator_rights(namespace, "gateway-controller", "gateway.networking.k8s.io"))?;
    let account = json!({"spec": {"serviceAccountName": "gateway-controller"}});
    create(&[
        deployment(namespace, "gateway-controller", &account),
        with(
            held("resource.k8s.io/v1", "ResourceClaim", namespace, "gpu", protected),
            "spec",
            json!({"devices": {"requests": requests}}),
        ),
        uses,
        class("e2e-class"),
        class("e2e-unused"),
        with(held(version, "Gateway", namespace, "g", &[]), "spec", json!({"gatewayClassName": "e2e-class"})),
    ])?;
    let reserved = json!([{"resource": "pods", "name": "uses", "uid": uid(&format!("pod uses -n {namespace}"))?}]);
    let device = json!({"request": "gpu", "driver": "d.e2e.example.com", "pool": "p", "device": "0"});
    let status = json!({"allocation": {"devices": {"results": [device]}}, "reservedFor": reserved});
    set_status(&format!("resourceclaim gpu -n {namespace}"), &status)?;
    delete(&format!("resourceclaim gpu -n {namespace}"))?;
    delete("gatewayclasses.gateway.networking.k8s.io e2e-class e2e-unused")?;
    let mut class = held("storage.k8s.io/v1", "VolumeAttributesClass", namespace, "e2e-in-use", &[]);
    class["metadata"]["namespace"] = Value::Null;
    (class["driverName"], class["parameters"]) = (json!("csi.e2e.example.com"), json!({"iops": "1"}));
    let spec = json!({
        "storageClassName": "none", "accessModes": ["ReadWriteOnce"], "volumeAttributesClassName": "e2e-in-use",
        "resources": {"requests": {"storage": "1Gi"}}
    });
    create(&[class, with(held("v1", "PersistentVolumeClaim", namespace, "data", &[]), "spec", spec)])?;
    lab::wait_for("its finalizer", Duration::from_secs(60), || {
        std::thread::sleep(Duration::from_secs(1));
        let set = kubectl("get volumeattributesclass e2e-in-use -o jsonpath={.metadata.finalizers}")?;
        Ok(set.contains("vac-protection").then_some(()))
    })?;
    delete("volumeattributesclass e2e-in-use")?;
    Ok(Staged::default())
}

/// The job controller leaves a Job alone that another controller manages.
fn managed_job(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let mut job = super::admission::job(namespace, "queued", &json!({}), 1);
    job["spec"]["managedBy"] = json!("e2e.example.com/queue");
    create(&[job])?;
    let mut part = pod(namespace, "part", "node-a", &json!({"e2e/phase": "Succeeded"}));
    part["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
    part["metadata"]["labels"] = json!({"batch.kubernetes.io/job-name": "queued"});
    part["spec"]["restartPolicy"] = json!("Never");
    part["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "batch/v1", "kind": "Job", "name": "queued", "uid": uid(&format!("job queued -n {namespace}"))?,
        "controller": true, "blockOwnerDeletion": true
    }]);
    create(&[part])?;
    kubectl(&format!("wait --for=jsonpath={{.status.phase}}=Succeeded pod/part -n {namespace} --timeout=60s"))?;
    delete(&format!("pod part -n {namespace}"))?;
    Ok(Staged::default())
}

fn plain_service(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let finalizer = "service.kubernetes.io/load-balancer-cleanup";
    create(&[with(held("v1", "Service", namespace, "plain", &[finalizer]), "spec", json!({"ports": [{"port": 80}]}))])?;
    delete(&format!("service plain -n {namespace}"))?;
    Ok(Staged::default())
}

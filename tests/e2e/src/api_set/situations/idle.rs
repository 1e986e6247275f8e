//! What controllers of kube-controller-manager should do that do not run there: `api.sh` names them.

use std::time::Duration;

use super::super::objects::*;
use super::super::{Situation, ask};
use super::collector::owned;
use super::volumes::claim;
use crate::cluster::Cluster;
use crate::situation::Staged;

/// All of them.
pub fn all() -> Vec<Situation> {
    vec![
        Situation::new(
            "idle-controllers",
            idle,
            [
                ask("cm/orphaned -n {ns}", "OrphanFinalizerPending", "ConfigMap {ns}/orphaned"),
                ask("cm/owner -n {ns}", "ForegroundDependentsRemain", "1 dependent"),
                ask("cm/alone -n {ns}", "GarbageCollectorNotWorking", "ConfigMap {ns}/alone"),
                ask("pvc/data -n {ns}", "PvcProtectionNotReleased", "PersistentVolumeClaim {ns}/data"),
                // It may be late for five minutes.
                ask("ns/e2e-untouched", "NamespaceControllerNotRunning", "Namespace e2e-untouched"),
            ],
        )
        .on_cluster(12),
    ]
}

fn idle(_: &Cluster, namespace: &str) -> anyhow::Result<Staged> {
    let untouched = "e2e-untouched";
    create(&[self::namespace(untouched), held("v1", "ConfigMap", untouched, "a", &[])])?;
    delete(&format!("namespace {untouched}"))?;
    for owner in ["orphaned", "owner", "alone"] {
        create(&[held("v1", "ConfigMap", namespace, owner, &[])])?;
    }
    for owner in ["orphaned", "owner"] {
        let uid = uid(&format!("configmap {owner} -n {namespace}"))?;
        let name = format!("of-{owner}");
        create(&[owned(held("v1", "ServiceAccount", namespace, &name, &[]), "ConfigMap", owner, &uid)])?;
    }
    create(&[claim(namespace, "")])?;
    delete(&format!("configmap orphaned -n {namespace} --cascade=orphan"))?;
    delete(&format!("configmap owner alone -n {namespace} --cascade=foreground"))?;
    delete(&format!("pvc data -n {namespace}"))?;
    std::thread::sleep(Duration::from_secs(60));
    Ok(Staged::default())
}

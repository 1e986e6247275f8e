//! Who installed a kind and a workload: what shows that both came together, or apart.

use crate::rules::prelude::*;

/// The operator lifecycle manager labels all that belongs to an operator with
/// `operators.coreos.com/<package>.<namespace>`.
pub const OLM: &str = "operators.coreos.com/";

/// `clusterctl` labels all that belongs to a provider of Cluster API, its core included.
pub const PROVIDER: &str = "cluster.x-k8s.io/provider";

/// The label with the name of a program, whatever its workload is called.
pub const NAME_LABEL: &str = "app.kubernetes.io/name";

/// Labels whose value all objects of one installation share.
const SHARED: [&str; 4] = [PROVIDER, "app.kubernetes.io/instance", "app.kubernetes.io/part-of", NAME_LABEL];

/// Whether a workload was installed with a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Installed {
    /// As another provider.
    Apart,
    #[default]
    Unknown,
    Together,
}

/// The metadata of the CRD of a kind.
pub fn definition<'a>(case: &mut Case<'_, 'a>, resource: &Resource) -> Option<&'a Meta> {
    let answer = case.lister.get::<Crd>(known::CRDS, None, &format!("{}.{}", resource.plural, resource.group));
    case.diagnosis.silently(answer).map(|crd| &crd.metadata)
}

fn release_of(meta: &Meta) -> Option<(&String, &String)> {
    meta.annotations.get(release::NAMESPACE).zip(meta.annotations.get(release::NAME))
}

/// What both have of the same installation.
pub fn link(crd: &Meta, workload: &Meta) -> Option<String> {
    if let Some((namespace, name)) = release_of(crd).filter(|own| release_of(workload) == Some(*own)) {
        return Some(format!("Helm release {namespace}/{name}"));
    }
    let is_shared = |key: &&str| crd.labels.get(key).is_some_and(|value| workload.labels.get(key) == Some(value));
    let key = SHARED.into_iter().find(is_shared);
    let shown = key.and_then(|key| Some(format!("label {key}={}", crd.labels.get(key)?)));
    shown.or_else(|| {
        let mut keys = crd.labels.keys().filter(|key| key.starts_with(OLM));
        keys.find(|key| workload.labels.contains_key(key)).map(|key| format!("label {key}"))
    })
}

/// What the labels of both show.
pub fn compare(crd: &Meta, workload: &Meta) -> Installed {
    let provider = crd.labels.get(PROVIDER).zip(workload.labels.get(PROVIDER));
    match provider {
        Some((own, other)) if own != other => Installed::Apart,
        _ if link(crd, workload).is_some() => Installed::Together,
        _ => Installed::Unknown,
    }
}

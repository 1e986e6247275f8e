//! What is destroyed outside of the API when a deletion completes. Where that cannot be read, nothing is claimed.

use findings::Evidence;

use super::phrases::within;
use crate::at_risk::{AtRisk, AtRiskKind};
use crate::rules::prelude::*;

/// More claims of one pod, one drain or one Application are not looked up.
const MAX_CLAIMS: usize = 20;
/// Nor more namespaces that an Application manages.
const MAX_NAMESPACES: usize = 4;

/// Argo CD deletes what an Application manages while it has one of these
/// (argo-cd: pkg/apis/application/v1alpha1/types.go, `CascadedDeletion`).
const CASCADES: &str = "resources-finalizer.argocd.argoproj.io";

/// Notes the disk of a claim that is being deleted. `released_by` is the one object that keeps the claim and is not being
/// deleted itself.
pub fn note_claim_disk(case: &mut Case, claim: &Claim, released_by: Option<ObjectRef>) {
    let Meta { namespace, name, .. } = &claim.metadata;
    let with = ObjectRef::claim(namespace.as_deref().unwrap_or_default(), name);
    let disk = claim_disk(case, claim, &with);
    // Before a deletion the question is what that deletion destroys.
    let released_by = released_by.filter(|_| !case.lister.is_before());
    case.diagnosis.at_risk.extend(disk.map(|disk| AtRisk { released_by, ..disk }));
}

/// The disk of a claim, which is deleted with this object.
fn claim_disk(case: &mut Case, claim: &Claim, with: &ObjectRef) -> Option<AtRisk> {
    if claim.spec.volume_name.is_empty() {
        return None;
    }
    // Who has no permission to see the volume sees what holds the claim all the same.
    let (answer, reads) = case.lister.read_apart(|lister| lister.volume(&claim.spec.volume_name));
    let volume = case.diagnosis.optional(known::VOLUMES.plural, "whether a disk is deleted with its claim", answer);
    let is_its =
        |volume: &&PersistentVolume| volume.spec.claim_ref.as_ref().is_some_and(|of| of.uid == claim.metadata.uid);
    volume.filter(is_its).and_then(|volume| disk(volume, with)).map(|disk| AtRisk { reads, ..disk })
}

/// Notes the disks of the claims that wait for these pods: those are being deleted, and go when no pod uses them.
pub fn note_disks_behind<'p>(case: &mut Case, pods: impl IntoIterator<Item = &'p Pod>) {
    let claims = pods.into_iter().flat_map(|pod| pod.claims().into_iter().map(move |claim| (pod, claim)));
    for (pod, name) in claims.take(MAX_CLAIMS) {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let (answer, _) = case.lister.read_apart(|lister| deleted_claim(lister, namespace, &name));
        let Some(claim) = case.diagnosis.silently(answer).filter(|claim| case.lister.is_going(&claim.metadata)) else {
            continue;
        };
        let stays = pod.metadata.deletion_timestamp.is_none();
        note_claim_disk(case, claim, stays.then(|| ObjectRef::pod(namespace, &pod.metadata.name)));
    }
}

/// A claim that is being deleted; a scan has listed all of these.
fn deleted_claim<'a>(lister: &Lister<'a>, namespace: &str, name: &str) -> Answer<&'a Claim> {
    match lister.subject() {
        Subject::Everything { namespace: only, .. } | Subject::Kind { namespace: only, .. } => {
            let scope = only.as_deref().map_or(Scope::All, within);
            let is_it =
                |claim: &&Claim| claim.metadata.name == name && claim.metadata.namespace.as_deref() == Some(namespace);
            lister
                .select::<Claim>(known::CLAIMS, scope, Select::Terminating)
                .and_then(|all| all.into_iter().find(is_it).map_or(Answer::Missing, Answer::Seen))
        }
        _ => lister.get(known::CLAIMS, Some(namespace), name),
    }
}

/// Notes what Argo CD deletes with an Application, and the disks of the claims among that.
pub fn note_managed(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    let is_application = target.resource.group == "argoproj.io" && target.resource.plural == "applications";
    if !is_application || !meta.finalizers.iter().any(|finalizer| finalizer.starts_with(CASCADES)) {
        return;
    }
    let namespace = target.namespace.as_deref();
    let (answer, reads) =
        case.lister.read_apart(|lister| lister.with_status(&target.resource, namespace, &target.name));
    let Some(application) = case.diagnosis.silently(answer) else { return };
    // It keeps CRDs, and what this annotation keeps (argo-cd: controller/appcontroller.go, `shouldBeDeleted`).
    let managed = application.status.managed.iter().filter(|one| one.kind != known::CRDS.kind);
    for one in managed.clone() {
        let place = if one.namespace.is_empty() { String::new() } else { format!("{}/", one.namespace) };
        let name = format!("{} {place}{}", one.kind, one.name);
        let evidence = Evidence::new(target.to_string(), format!("status.resources: {name}"));
        let (condition, reads) = (format!("unless annotated {KEPT}"), reads.clone());
        let at_risk = AtRisk::new(AtRiskKind::ManagedObject, &name, target, evidence);
        case.diagnosis.at_risk.push(AtRisk { condition, reads, ..at_risk });
    }
    // In another cluster the claims are other ones.
    if application.spec.is_remote {
        return;
    }
    let (claims, _) = case.lister.read_apart(|lister| {
        let named = managed.clone().filter(|one| one.kind == known::CLAIMS.kind).take(MAX_CLAIMS);
        let named =
            named.map(|one| lister.get::<Claim>(known::CLAIMS, Some(&one.namespace), &one.name).map(|one| vec![one]));
        let inside = managed.filter(|one| one.kind == known::NAMESPACES.kind).take(MAX_NAMESPACES);
        named.chain(inside.map(|one| lister.list::<Claim>(known::CLAIMS, within(&one.name)))).collect::<Vec<_>>()
    });
    for answer in claims {
        let all = case.diagnosis.silently(answer).unwrap_or_default();
        for claim in all.into_iter().filter(|claim| !is_kept(&claim.metadata)).take(MAX_CLAIMS) {
            let disk = claim_disk(case, claim, target);
            case.diagnosis.at_risk.extend(disk);
        }
    }
}

/// What of the annotation keeps an object.
const KEPT: &str = "Delete=false";

fn is_kept(meta: &Meta) -> bool {
    let has = |name: &str, value: &str| {
        meta.annotations.get(name).is_some_and(|all| all.split(',').any(|one| one.trim() == value))
    };
    has(ARGO_CD_OPTIONS, KEPT) || has(release::POLICY, "keep")
}

/// Notes the disk of a volume that is being deleted. `released_by` is its claim, if that is not being deleted.
pub fn note_volume_disk(
    target: &ObjectRef,
    volume: &PersistentVolume,
    released_by: Option<ObjectRef>,
    diagnosis: &mut Diagnosis,
) {
    diagnosis.at_risk.extend(disk(volume, target).map(|disk| AtRisk { released_by, ..disk }));
}

/// The provisioner deletes the disk of a volume that is Released and whose policy is Delete; one that was never bound is
/// never Released (sig-storage-lib-external-provisioner: controller/controller.go, `shouldDelete`).
fn disk(volume: &PersistentVolume, with: &ObjectRef) -> Option<AtRisk> {
    let was_bound = !matches!(volume.status.phase.as_str(), "Pending" | "Available");
    let is_deleted = volume.spec.persistent_volume_reclaim_policy == "Delete";
    let name = &volume.metadata.name;
    let csi = volume.spec.csi.as_ref().filter(|csi| !csi.volume_handle.is_empty());
    let (called, driver) = csi.map_or((name.as_str(), ""), |csi| (&csi.volume_handle, &csi.driver));
    let evidence = Evidence::new(format!("PersistentVolume {name}"), "persistentVolumeReclaimPolicy: Delete");
    (was_bound && is_deleted)
        .then(|| AtRisk { driver: driver.to_owned(), ..AtRisk::new(AtRiskKind::Disk, called, with, evidence) })
}

/// Notes the load balancer of a Service that is being deleted, where its status names one.
pub fn note_load_balancer(target: &ObjectRef, service: &Service, diagnosis: &mut Diagnosis) {
    let LoadBalancerIngress { ip, hostname } = match service.status.load_balancer.ingress.first() {
        Some(ingress) if service.spec.kind == "LoadBalancer" => ingress,
        _ => return,
    };
    let (field, address) = if ip.is_empty() { ("hostname", hostname) } else { ("ip", ip) };
    if !address.is_empty() {
        let evidence = Evidence::new(target.to_string(), format!("status.loadBalancer.ingress {field}: {address}"));
        diagnosis.at_risk.push(AtRisk::new(AtRiskKind::LoadBalancer, address, target, evidence));
    }
}

//! What is destroyed outside of the API when a deletion completes. Where that cannot be read, nothing is claimed.

use findings::Evidence;

use crate::at_risk::{AtRisk, AtRiskKind};
use crate::rules::prelude::*;

/// Notes the disk of a claim that is being deleted. `released_by` is the one object that keeps the claim and is not being
/// deleted itself.
pub fn note_claim_disk(case: &mut Case, claim: &Claim, released_by: Option<ObjectRef>) {
    let Meta { namespace, name, uid, .. } = &claim.metadata;
    if claim.spec.volume_name.is_empty() {
        return;
    }
    // Who has no permission to see the volume sees what holds the claim all the same.
    let (answer, reads) = case.lister.read_apart(|lister| lister.volume(&claim.spec.volume_name));
    let volume = case.diagnosis.optional(known::VOLUMES.plural, "whether a disk is deleted with its claim", answer);
    let is_its = |volume: &&PersistentVolume| volume.spec.claim_ref.as_ref().is_some_and(|of| of.uid == *uid);
    let with = ObjectRef::claim(namespace.as_deref().unwrap_or_default(), name);
    let disk = volume.filter(is_its).and_then(|volume| disk(volume, &with));
    // Before a deletion the question is what that deletion destroys.
    let released_by = released_by.filter(|_| !case.lister.is_before());
    case.diagnosis.at_risk.extend(disk.map(|disk| AtRisk { released_by, reads, ..disk }));
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

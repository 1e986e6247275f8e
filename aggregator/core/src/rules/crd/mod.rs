//! CustomResourceDefinitions: their own deletion, and the conversion of their objects.

pub mod conversion;

use crate::rules::case::Case;
use crate::rules::finalizer;
use crate::state::ObjectRef;

/// Explains a CRD.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    let Some(crd) = conversion::begin(case, target) else { return };
    finalizer::count_left_out(target, &crd.metadata, &mut case.diagnosis);
    for finalizer in crd.metadata.finalizers.iter().filter(|finalizer| *finalizer != conversion::CLEANUP) {
        finalizer::one(case, target, &crd.metadata, finalizer);
    }
    conversion::instances(case, target, crd);
}

//! How a finding about a pod or the node begins.

use findings::{Cause, FindingBuilder, Gate, Link, Placeholder};

use super::node_names;
use crate::{observation::Observation, view::PodView};

/// The gate of everything below a pod's `volumes`.
pub(super) const VOLUMES: Option<Gate> = Some(Gate::VolumesUnmounted);

/// A finding about the view's pod, below these steps.
pub(super) fn of_pod(view: &PodView, cause: &'static Cause, gate: Option<Gate>, head: &[Link]) -> FindingBuilder {
    let found = of_node(view.seen, cause, gate).below(head);
    found.name(Placeholder::Pod, view.pod).name(Placeholder::Uid, view.uid())
}

/// One about the node.
pub(super) fn of_node(seen: &Observation, cause: &'static Cause, gate: Option<Gate>) -> FindingBuilder {
    let found = FindingBuilder::new(cause).at(gate).name(Placeholder::Node, &seen.node.name);
    node_names::given(found, seen)
}

//! What nearly every finder uses.

pub(super) use findings::{Cause, Finding, FindingBuilder, Gate, Link, Placeholder, cause};

pub(super) use super::describe;
pub(super) use super::finding_builder::{Mounted as _, VOLUMES, node_finding, pod_finding};
pub(super) use crate::{facts::Facts, observation::*, view::*};

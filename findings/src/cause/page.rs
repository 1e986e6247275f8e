//! What every page of the registry is written with.

pub(in crate::cause) use super::entry::{Advice, Cause, ClusterArea, Danger, Patience, Proven, check, step};
pub(in crate::cause) use crate::Gate;

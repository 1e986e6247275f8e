//! How a finding about the server of a file system begins.

use findings::{Cause, FindingBuilder, Gate, Link, Placeholder};

use super::finding_builder::of_pod;
use crate::{
    observation::{Process, Thread},
    view::PodView,
};

/// Begins a finding about the server that a task waits for.
pub fn waits(
    view: &PodView,
    cause: &'static Cause,
    process: &Process,
    thread: &Thread,
    head: &[Link],
    gate: Option<Gate>,
) -> FindingBuilder {
    of_pod(view, cause, gate, head)
        .evidence(
            format!("/proc/{}/task/{}/{{wchan,stack}}", process.pid, thread.tid),
            thread.wchan.get().map_or("", String::as_str),
        )
        .name_if(Placeholder::Pid, process.asked())
        .name(Placeholder::Tid, thread.tid)
}

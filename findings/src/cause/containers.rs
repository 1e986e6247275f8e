//! Why containers, sandboxes and claimed devices do not go: what the kubelet does in
//! `SyncTerminatingPod`.

mod process;
mod runtime;
mod sandbox;

pub use process::*;
pub use runtime::*;
pub use sandbox::*;

use crate::Cause;

pub(super) static ALL: &[&Cause] = &joined::<{ process::ALL.len() + runtime::ALL.len() + sandbox::ALL.len() }>(&[
    process::ALL,
    runtime::ALL,
    sandbox::ALL,
]);

/// Several lists of causes as one; `N` is their length together.
pub(super) const fn joined<const N: usize>(parts: &[&[&'static Cause]]) -> [&'static Cause; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut entry, mut at) = (0, 0, 0);
    while part < parts.len() {
        if entry == parts[part].len() {
            part += 1;
            entry = 0;
            continue;
        }
        all[at] = parts[part][entry];
        entry += 1;
        at += 1;
    }
    all
}

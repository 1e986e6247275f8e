//! Raw block volumes: the loop device the kubelet locks them with, and what is built on it.

use findings::{Finding, Gate, Placeholder, cause};

use super::{runtime, words};
use crate::observation::{LoopDevice, Observation};

/// A loop device on a published block volume is still attached.
pub fn loop_left(seen: &Observation, device: &LoopDevice, gate: Option<Gate>) -> Finding {
    let cause = if device.holders.is_empty() { &cause::LOOP_DEVICE_LEFT } else { &cause::BLOCK_DEVICE_HELD };
    let holders =
        if device.holders.is_empty() { String::new() } else { format!("; used by {}", device.holders.join(", ")) };
    runtime::finding(seen, cause, gate, |found| {
        found
            .blame(
                words::loop_device(&device.device),
                format!("its backing file is {}{holders}", words::path(&device.file)),
            )
            .evidence(
                format!("/sys/block/{}/loop/backing_file", device.device.trim_start_matches("/dev/")),
                device.file.show(),
            )
            .name(Placeholder::Device, &device.device)
            .name_if(Placeholder::Path, device.file.as_str())
            .root(&device.device)
    })
}

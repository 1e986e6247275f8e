//! The block devices below a mounted one, as far as sysfs tells.

use serde::{Deserialize, Serialize};

use super::{Dev, HostPath};

/// A mounted device and all that it is built on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockStack {
    /// The mounted device.
    pub mounted: Dev,
    /// It first, then what is below, each once.
    pub devices: Vec<BlockDevice>,
}

/// One block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// `dm-3`, `sdb`, `loop0`.
    pub name: String,
    /// What the kernel tells by its kind.
    pub kind: BlockKind,
    /// How many requests it has taken and not finished.
    pub in_flight: Option<u64>,
    /// How many it had finished at the first and at the second look.
    pub finished: [Option<u64>; 2],
}

/// What a block device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockKind {
    /// A device-mapper device: a logical volume, a multipath map, an encrypted volume.
    Mapper {
        /// Its name.
        name: String,
        /// The beginning of its uuid: `LVM`, `mpath`, `CRYPT`.
        user: Option<String>,
        /// Whether it is suspended: everything that is sent to it waits.
        suspended: Option<bool>,
    },
    /// A loop device.
    Loop {
        /// Its backing file.
        file: HostPath,
    },
    /// A software RAID.
    Raid {
        /// `clean`, `active`, `broken`.
        state: String,
    },
    /// A disk, a partition or another driver's device.
    Disk {
        /// `running`, `offline`, `blocked`; `live` for NVMe. None when sysfs does not tell.
        state: Option<String>,
    },
}

impl BlockStack {
    /// The topmost device that is suspended, with its name.
    pub fn suspended(&self) -> Option<(&BlockDevice, &str)> {
        self.devices.iter().find_map(|device| match &device.kind {
            BlockKind::Mapper { name, suspended: Some(true), .. } => Some((device, name.as_str())),
            _ => None,
        })
    }

    /// The lowest device that is known not to work, else the lowest that has requests and finishes none.
    pub fn failing(&self) -> Option<&BlockDevice> {
        let is_dead = |device: &&BlockDevice| device.is_dead();
        let stands_still = |device: &&BlockDevice| device.stands_still();
        self.devices.iter().rev().find(is_dead).or_else(|| self.devices.iter().rev().find(stands_still))
    }
}

impl BlockDevice {
    /// Whether its driver says that it does not work.
    pub fn is_dead(&self) -> bool {
        match &self.kind {
            BlockKind::Disk { state: Some(state) } => !matches!(state.as_str(), "running" | "live"),
            BlockKind::Raid { state } => matches!(state.as_str(), "broken" | "inactive" | "suspended"),
            _ => false,
        }
    }

    /// Whether it has requests, and none was finished between two looks.
    pub fn stands_still(&self) -> bool {
        self.in_flight.is_some_and(|count| count > 0)
            && self.finished[0].is_some()
            && self.finished[0] == self.finished[1]
    }
}

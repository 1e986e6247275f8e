//! The block devices below a mounted one, as far as sysfs shows.

use serde::{Deserialize, Serialize};

use super::{Dev, HostPath};

/// A mounted device and all that it is built on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockStack {
    pub mounted: Dev,
    /// It first, then what is below, each once.
    pub devices: Vec<BlockDevice>,
    /// What its file system has counted, if that is an ext4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<FileSystemErrors>,
}

/// The errors of a file system since it was last checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemErrors {
    pub count: u64,
    /// Milliseconds since the epoch when the last one was.
    pub last_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// `dm-3`, `sdb`, `loop0`.
    pub name: String,
    /// What the kernel shows, by its kind.
    pub kind: BlockKind,
    /// How many requests it has taken and not finished.
    pub in_flight: Option<u64>,
    /// How many it had finished at the first and at the second look.
    pub finished: [Option<u64>; 2],
    /// How many writes it had finished at the first and at the second look.
    #[serde(default)]
    pub written: [Option<u64>; 2],
    /// The devices that it is built on itself.
    #[serde(default)]
    pub below: Vec<String>,
}

/// What a block device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockKind {
    /// A device-mapper device: a logical volume, a multipath map, an encrypted volume.
    Mapper {
        name: String,
        /// The beginning of its uuid: `LVM`, `mpath`, `CRYPT`.
        user: Option<String>,
        /// Whether it is suspended: everything that is sent to it waits.
        suspended: Option<bool>,
    },
    /// A loop device.
    Loop { file: HostPath },
    /// A software RAID.
    Raid {
        /// `clean`, `active`, `broken`.
        state: String,
    },
    /// A disk, a partition or another driver's device.
    Disk {
        /// `running`, `offline`, `blocked`; `live` for NVMe. None when sysfs does not show it.
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

    /// The lowest device that may be to blame: where one of several that a device is built on works, it is that device,
    /// for nothing shows which of them is waited for.
    pub fn suspect(&self) -> Option<&BlockDevice> {
        let gone = self.gone();
        let mut at = 0;
        loop {
            let legs: Vec<usize> = self.legs(at).into_iter().flatten().collect();
            let works = |leg: &usize| self.devices.get(*leg).is_some_and(BlockDevice::finishes);
            let is_gone = |leg: &&usize| gone.get(**leg) == Some(&true);
            let stands_still = |leg: &&usize| self.devices.get(**leg).is_some_and(BlockDevice::stands_still);
            let device = self.devices.get(at)?;
            let next = match legs.as_slice() {
                _ if legs.iter().any(works) => None,
                // It has what the one below it was not given.
                [leg] if device.stands_still() && self.devices.get(*leg).is_some_and(BlockDevice::is_idle) => None,
                [leg] if !device.is_dead() || is_gone(&leg) => Some(*leg),
                _ if device.is_dead() => legs.iter().rfind(is_gone).copied(),
                _ => legs.iter().rfind(is_gone).or_else(|| legs.iter().rfind(stands_still)).copied(),
            };
            match next {
                Some(leg) => at = leg,
                None => return Some(device),
            }
        }
    }

    pub fn top(&self) -> Option<&BlockDevice> {
        self.devices.first()
    }

    /// The devices through which what is sent to the mounted one comes to this one, without it.
    pub fn above(&self, device: &BlockDevice) -> Vec<&BlockDevice> {
        let mut leads = vec![false; self.devices.len()];
        for (at, above) in self.devices.iter().enumerate().rev() {
            let comes = above == device || self.legs(at).iter().flatten().any(|leg| leads.get(*leg) == Some(&true));
            if let Some(known) = leads.get_mut(at) {
                *known = comes;
            }
        }
        let above = self.devices.iter().zip(leads).filter(|(above, leads)| *leads && *above != device);
        above.map(|(above, _)| above).collect()
    }

    /// What this device is built on.
    pub fn below(&self, device: &BlockDevice) -> Vec<&BlockDevice> {
        let at = self.devices.iter().position(|other| other == device);
        let legs = at.into_iter().flat_map(|at| self.legs(at)).flatten();
        legs.filter_map(|leg| self.devices.get(leg)).collect()
    }

    /// The multipath map that is waited for, with its name, where none of its paths works or will be given up: then all that
    /// is sent to it fails at once, or waits because the map queues.
    pub fn pathless(&self) -> Option<(&BlockDevice, &str)> {
        let gone = self.gone();
        let suspect = self.suspect()?;
        self.devices.iter().enumerate().find_map(|(at, device)| {
            let BlockKind::Mapper { name, user: Some(user), .. } = &device.kind else { return None };
            let paths = self.below(device);
            let is_left = paths.is_empty() && at + 1 == self.devices.len();
            let has_lost = is_left || (gone.get(at) == Some(&true) && !paths.iter().any(|path| path.is_recovering()));
            let is_waited_for = device == suspect || self.above(suspect).contains(&device);
            (user == "mpath" && has_lost && is_waited_for).then_some((device, name.as_str()))
        })
    }

    /// Whether a task that waits for a device may wait for this one; none where that is unknown.
    pub fn may_be_waited_for(&self) -> Option<bool> {
        let top = self.top()?;
        if self.suspended().is_some() || self.is_gone() || top.stands_still() {
            return Some(true);
        }
        (top.finishes() || top.in_flight == Some(0)).then_some(false)
    }

    /// Whether nothing that is sent to the mounted device can be done: it does not work, or all that it is built on.
    pub fn is_gone(&self) -> bool {
        self.gone().first() == Some(&true)
    }

    /// The same of each device.
    fn gone(&self) -> Vec<bool> {
        let mut gone = vec![false; self.devices.len()];
        for (at, device) in self.devices.iter().enumerate().rev() {
            let legs = self.legs(at);
            let all = !legs.is_empty() && legs.iter().all(|leg| leg.is_some_and(|leg| gone.get(leg) == Some(&true)));
            if let Some(known) = gone.get_mut(at) {
                *known = device.is_dead() || all;
            }
        }
        gone
    }

    /// Where those stand that a device is built on, none for one that was not looked at: always after it.
    fn legs(&self, at: usize) -> Vec<Option<usize>> {
        if self.devices.iter().all(|device| device.below.is_empty()) {
            // An older agent does not report what is built on what.
            return if at == 0 { (1..self.devices.len()).map(Some).collect() } else { Vec::new() };
        }
        let find = |name: &String| (at + 1..self.devices.len()).find(|leg| self.devices[*leg].name == *name);
        self.devices.get(at).into_iter().flat_map(|device| device.below.iter().map(find)).collect()
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

    /// Whether its driver waits for the way to it, and then gives up by itself: of SCSI `blocked`
    /// (`recovery_tmo` of iSCSI, `fast_io_fail_tmo` of Fibre Channel), of NVMe until `ctrl_loss_tmo`.
    pub fn is_recovering(&self) -> bool {
        let is_passing = |state: &String| matches!(state.as_str(), "blocked" | "connecting" | "resetting");
        matches!(&self.kind, BlockKind::Disk { state: Some(state) } if is_passing(state))
    }

    /// Whether it has requests, and none was finished between two looks.
    pub fn stands_still(&self) -> bool {
        self.in_flight.is_some_and(|count| count > 0)
            && self.finished[0].is_some()
            && self.finished[0] == self.finished[1]
    }

    /// Whether something was written to it between two looks.
    pub fn takes_writes(&self) -> bool {
        matches!(self.written, [Some(before), Some(after)] if before != after)
    }

    /// Whether it has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.in_flight == Some(0) && !self.is_dead()
    }

    /// Whether it finished some between two looks.
    pub fn finishes(&self) -> bool {
        matches!(self.finished, [Some(before), Some(after)] if before != after)
    }
}

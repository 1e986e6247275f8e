//! What a forced deletion of a pod would cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of a pod would go on when `kubectl delete pod --force` had removed its object, as far as the node shows it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ForceCost {
    /// Processes that would go on: `pid 326 sh`. Of many some are named.
    pub processes: Vec<String>,
    /// How many.
    pub process_count: usize,
    /// Persistent volumes that stay mounted and can be written.
    pub volumes: Vec<ForcedVolume>,
    /// What the pod has written and is not on disk yet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unsaved_bytes: Option<u64>,
}

/// A volume that stays mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForcedVolume {
    /// Its name: the directory below `volumes/<plugin>/`.
    pub name: String,
    /// Where it is mounted.
    pub path: String,
    /// Whether the attach controller may take it from the node under these processes: it does so six minutes after
    /// the object is gone, while the node is not ready, unless that is switched off; and at once with the taint
    /// `node.kubernetes.io/out-of-service`.
    pub may_be_detached: bool,
    /// How its PersistentVolume may be used, where the API server was asked: `ReadWriteOnce`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub access_modes: Vec<String>,
}

impl ForcedVolume {
    /// Whether one node at a time may have it; none where that is not known.
    fn is_for_one_node(&self) -> Option<bool> {
        let of_one = |mode: &String| matches!(mode.as_str(), "ReadWriteOnce" | "ReadWriteOncePod");
        (!self.access_modes.is_empty()).then(|| self.access_modes.iter().all(of_one))
    }

    /// What happens to it.
    fn detail(&self) -> String {
        let at = format!("volume {} at {}", self.name, self.path);
        let detached = "the attach controller may detach it under whoever still writes: six minutes after the object is \
            gone, while this node is not ready, or at once with the taint out-of-service (probable; the former can be \
            switched off)";
        match (self.may_be_detached, self.is_for_one_node()) {
            (true, Some(true)) => format!("{at} is {}: {detached}.", self.access_modes.join(" and ")),
            (true, None) => format!("{at}. If it is ReadWriteOnce, {detached}."),
            (false, _) | (true, Some(false)) => {
                let modes = if self.access_modes.is_empty() {
                    String::new()
                } else {
                    format!(" is {}", self.access_modes.join(" and "))
                };
                format!("{at}{modes}: a replacement can write to it at the same time.")
            }
        }
    }
}

impl ForceCost {
    /// One line of it.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        match (self.process_count, self.processes.as_slice()) {
            (0, _) => {}
            (1, [one]) => parts.push(format!("{one} keeps running")),
            (count, named) => {
                let more = if count > named.len() { " …" } else { "" };
                parts.push(format!("{count} processes keep running ({}{more})", named.join(", ")));
            }
        }
        match self.volumes.as_slice() {
            [] => {}
            [one] => parts.push(format!("volume {} stays mounted and writable", one.name)),
            several => parts.push(format!("{} volumes stay mounted and writable", several.len())),
        }
        if let Some(bytes) = self.unsaved_bytes {
            parts.push(format!("{} KiB written are not on disk", bytes.div_ceil(1024)));
        }
        parts.join("; ")
    }

    /// The rest of it: what happens to each volume.
    pub fn details(&self) -> Vec<String> {
        self.volumes.iter().map(ForcedVolume::detail).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_and_the_volumes_have_their_own() {
        let volume = |may_be_detached| ForcedVolume {
            name: "pv-1".into(),
            path: "/k/pods/u/mount".into(),
            may_be_detached,
            access_modes: Vec::new(),
        };
        let cost = ForceCost {
            processes: vec!["pid 326 sh".into()],
            process_count: 1,
            volumes: vec![volume(true)],
            unsaved_bytes: Some(5000),
        };
        let line = "pid 326 sh keeps running; volume pv-1 stays mounted and writable; 5 KiB written are not on disk";
        assert_eq!(cost.line(), line);
        assert!(cost.details()[0].contains("six minutes"));
        let many = ForceCost { process_count: 9, volumes: vec![volume(false); 2], unsaved_bytes: None, ..cost };
        assert_eq!(many.line(), "9 processes keep running (pid 326 sh …); 2 volumes stay mounted and writable");
        assert!(many.details()[0].contains("a replacement"));
        let of = |modes: &[&str]| {
            let access_modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
            ForcedVolume { access_modes, ..volume(true) }.detail()
        };
        assert!(of(&["ReadWriteOnce"]).contains("is ReadWriteOnce: the attach controller may detach it"));
        assert!(of(&[]).contains("If it is ReadWriteOnce, the attach controller"));
        assert!(
            of(&["ReadWriteOnce", "ReadWriteMany"])
                .ends_with("ReadWriteMany: a replacement can write to it at the same time.")
        );
    }
}

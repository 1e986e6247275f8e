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
    /// Which of them can go on writing to which volume, each once for a volume. Of many some are named.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub writers: Vec<Writer>,
    /// How many of them can.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub writer_count: usize,
    /// Why there may be more of these.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub writers_not_seen: Option<String>,
    /// Persistent volumes that stay mounted and can be written.
    pub volumes: Vec<ForcedVolume>,
    /// What the pod has written and is not on disk yet, in bytes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unsaved_bytes: Option<u64>,
    /// Who made the pod and would make another one: `StatefulSet db`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub controller: Option<String>,
    /// Other pods of this controller that run on this node and are ready, and may do its work already. Of many some are
    /// named.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub others: Vec<OtherPod>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A process that has a file of a volume open for writing, or mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Writer {
    /// `pid 326 sh`.
    pub process: String,
    /// The volume's name, as in [`ForcedVolume`].
    pub volume: String,
    /// One of the files, as its process sees it.
    pub file: String,
    /// Its descriptor; absent when the file is mapped and closed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fd: Option<u32>,
    /// How many others of the volume it can write to.
    pub more_files: usize,
    /// Whether it has been killed, or is exiting: then only the call that it is in may still write.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub ending: bool,
}

impl Writer {
    fn detail(&self) -> String {
        let Writer { process, volume, file, .. } = self;
        let how = match self.fd {
            Some(fd) => format!("open for writing (descriptor {fd})"),
            None => "mapped, and writes by that".to_owned(),
        };
        let more = match self.more_files {
            0 => String::new(),
            1 => ", and one more file".to_owned(),
            more => format!(", and {more} more files"),
        };
        let ending = if self.ending { "; it is ending: the call that it is in may still write" } else { "" };
        format!("{process} has {file} of volume {volume} {how}{more}{ending}.")
    }
}

/// Another pod of the same controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherPod {
    /// `shop/db-1`.
    pub pod: String,
    /// The claims that both use.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shared_claims: Vec<String>,
}

impl OtherPod {
    fn words(&self) -> String {
        match self.shared_claims.as_slice() {
            [] => self.pod.clone(),
            claims => format!("{} (which uses claim {} too)", self.pod, claims.join(" and ")),
        }
    }
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
        let detached = "the attach controller may detach it while processes still write: six minutes after the object is \
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
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        let volumes = self.written_volumes();
        match (self.process_count, self.processes.as_slice()) {
            (0, _) => {}
            (1, [one]) if self.writer_count > 0 => {
                parts.push(format!("{one} keeps running and has {volumes} open for writing"));
            }
            (1, [one]) => parts.push(format!("{one} keeps running")),
            (count, named) => {
                let more = if count > named.len() { " …" } else { "" };
                let writers = match self.writer_count {
                    0 => String::new(),
                    1 => format!(", one with {volumes} open for writing"),
                    several => format!(", {several} with {volumes} open for writing"),
                };
                parts.push(format!("{count} processes keep running ({}{more}){writers}", named.join(", ")));
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
        match (self.others.as_slice(), &self.controller) {
            ([], _) | (_, None) => {}
            ([one], Some(controller)) => parts.push(format!("{} of {controller} already runs", one.pod)),
            (several, Some(controller)) => {
                parts.push(format!("{} other pods of {controller} already run", several.len()));
            }
        }
        parts.join("; ")
    }

    /// Those that a process can write to, in words.
    fn written_volumes(&self) -> String {
        let mut names: Vec<&str> = self.writers.iter().map(|writer| writer.volume.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [one] => format!("volume {one}"),
            several => format!("volumes {}", several.join(" and ")),
        }
    }

    /// The rest of it: who can write to what, what happens to each volume, and who writes beside them.
    pub fn details(&self) -> Vec<String> {
        let mut details: Vec<String> = self.writers.iter().map(Writer::detail).collect();
        details.extend(self.writers_not_seen.as_ref().map(|why| format!("Not all that can write were seen: {why}.")));
        details.extend(self.volumes.iter().map(ForcedVolume::detail));
        details.extend(self.controller.as_deref().map(|controller| self.replacement(controller)));
        details
    }

    /// Whether another pod does the work already, as far as one node can see.
    fn replacement(&self, controller: &str) -> String {
        let already = match self.others.as_slice() {
            [] => "No other pod of it was seen running on this node".to_owned(),
            pods => {
                let pods: Vec<String> = pods.iter().map(OtherPod::words).collect();
                format!("Of it run here already, and are ready: {}", pods.join(", "))
            }
        };
        let next = match controller.split_once(' ').map(|(kind, _)| kind) {
            Some("StatefulSet") => ", which makes a pod of this name again as soon as the object is gone",
            Some("DaemonSet") => ", which makes another on this node as soon as the object is gone",
            Some("ReplicaSet" | "ReplicationController") => ", which counts a pod that is being deleted as gone",
            _ => "",
        };
        format!("The pod is of {controller}{next}. {already}; other nodes are not known here.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(may_be_detached: bool) -> ForcedVolume {
        ForcedVolume { name: "pv-1".into(), path: "/k/pods/u/mount".into(), may_be_detached, access_modes: Vec::new() }
    }

    fn writer(volume: &str) -> Writer {
        Writer {
            process: "pid 326 sh".into(),
            volume: volume.into(),
            file: "/data/journal".into(),
            fd: Some(3),
            more_files: 0,
            ending: false,
        }
    }

    fn sample() -> ForceCost {
        ForceCost { processes: vec!["pid 326 sh".into()], process_count: 1, ..ForceCost::default() }
    }

    #[test]
    fn it_is_one_line_and_the_volumes_have_their_own() {
        let cost = ForceCost { volumes: vec![volume(true)], unsaved_bytes: Some(5000), ..sample() };
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

    #[test]
    fn who_can_write_is_told_in_the_line_and_each_in_the_details() {
        let cost = ForceCost { writers: vec![writer("pv-1")], writer_count: 1, ..sample() };
        assert_eq!(cost.line(), "pid 326 sh keeps running and has volume pv-1 open for writing");
        assert_eq!(cost.details(), ["pid 326 sh has /data/journal of volume pv-1 open for writing (descriptor 3)."]);
        let many = ForceCost {
            process_count: 9,
            writers: vec![writer("pv-2"), Writer { more_files: 2, fd: None, ending: true, ..writer("pv-1") }],
            writer_count: 2,
            writers_not_seen: Some("/proc/7/fd may not be listed".into()),
            ..cost
        };
        let line = "9 processes keep running (pid 326 sh …), 2 with volumes pv-1 and pv-2 open for writing";
        assert_eq!(many.line(), line);
        assert_eq!(
            many.details()[1..],
            [
                "pid 326 sh has /data/journal of volume pv-1 mapped, and writes by that, and 2 more files; it is \
                 ending: the call that it is in may still write.",
                "Not all that can write were seen: /proc/7/fd may not be listed."
            ]
        );
    }

    #[test]
    fn who_does_its_work_already_is_told() {
        let other = |pod: &str, claims: &[&str]| OtherPod {
            pod: pod.into(),
            shared_claims: claims.iter().map(|claim| (*claim).to_owned()).collect(),
        };
        let cost = ForceCost {
            controller: Some("ReplicaSet web-5d".into()),
            others: vec![other("shop/web-b", &["data"])],
            ..sample()
        };
        assert_eq!(cost.line(), "pid 326 sh keeps running; shop/web-b of ReplicaSet web-5d already runs");
        assert!(
            cost.details()[0].contains("Of it run here already, and are ready: shop/web-b (which uses claim data too)")
        );
        let several = ForceCost { others: vec![other("shop/a", &[]), other("shop/b", &[])], ..cost };
        assert!(several.line().ends_with("2 other pods of ReplicaSet web-5d already run"));
        let set = ForceCost { controller: Some("StatefulSet db".into()), others: Vec::new(), ..several };
        assert_eq!(set.line(), "pid 326 sh keeps running");
        assert!(set.details()[0].contains("a pod of this name again") && set.details()[0].contains("No other pod"));
    }
}

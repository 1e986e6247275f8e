//! What a step of a chain speaks of, as data: for scripts, and for joining findings of several
//! nodes, which must not read sentences.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clean;

/// Longer paths and names are cut.
const MAX_TEXT_CHARS: usize = 400;

/// What a step of a chain speaks of. Paths are the host's; texts are bounded and cleaned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "What")]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub enum Entity {
    /// A process, or one thread of it.
    Process {
        /// Its pid on the host.
        pid: u32,
        /// The thread, when it is not the leader.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        thread: Option<u32>,
        /// Its name, chosen by itself.
        comm: String,
        /// The state letter of `/proc/<pid>/stat`.
        state: char,
    },
    /// A mount.
    Mount {
        /// Where it is mounted.
        path: String,
        /// `0:40`.
        device: String,
        /// `fuse.s3fs`.
        fs_type: String,
    },
    /// A volume of a pod.
    Volume {
        /// Its name: the directory below `volumes/<plugin>/`.
        name: String,
    },
    /// A container.
    Container {
        /// The runtime's id.
        id: String,
        /// Its name in the pod.
        name: String,
    },
    /// A sandbox.
    Sandbox {
        /// The runtime's id.
        id: String,
    },
    /// A cgroup.
    Cgroup {
        /// Its directory.
        path: String,
    },
    /// A file or directory.
    Path {
        /// Its path.
        path: String,
    },
    /// A loop, multipath or other block device.
    Device {
        /// `/dev/loop0`.
        path: String,
    },
    /// An object of the API.
    Object {
        /// `Pod`, `PersistentVolumeClaim`, `Widget`.
        #[serde(rename = "objectKind")]
        kind: String,
        /// Its namespace, when it lives in one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        namespace: Option<String>,
        /// Its name.
        name: String,
    },
    /// A CSI driver.
    CsiDriver {
        /// `ebs.csi.aws.com`.
        name: String,
    },
}

impl Entity {
    /// What it is on its node, however it stands: a process by its pid, a mount by its path and device. None where its name
    /// means something within a pod only.
    pub fn identity(&self) -> Option<String> {
        Some(match self {
            Entity::Process { pid, .. } => format!("process {pid}"),
            Entity::Mount { path, device, .. } => format!("mount {path} {device}"),
            Entity::Container { id, .. } => format!("container {id}"),
            Entity::Sandbox { id } => format!("sandbox {id}"),
            Entity::Cgroup { path } | Entity::Path { path } | Entity::Device { path } => path.clone(),
            Entity::CsiDriver { name } => format!("CSI driver {name}"),
            Entity::Volume { .. } | Entity::Object { .. } => return None,
        })
    }

    /// What it is, in one word.
    pub fn kind(&self) -> &str {
        match self {
            Entity::Process { .. } => "Process",
            Entity::Mount { .. } => "Mount",
            Entity::Volume { .. } => "Volume",
            Entity::Container { .. } => "Container",
            Entity::Sandbox { .. } => "Sandbox",
            Entity::Cgroup { .. } => "Cgroup",
            Entity::Path { .. } => "Path",
            Entity::Device { .. } => "Device",
            Entity::Object { kind, .. } => kind,
            Entity::CsiDriver { .. } => "CsiDriver",
        }
    }

    /// The same, bounded and cleaned again: one that was read may say anything.
    pub fn cleaned(&self) -> Self {
        match self {
            Entity::Process { pid, thread, comm, state } => {
                let state = if state.is_ascii_alphabetic() { *state } else { '?' };
                Entity::thread(*pid, thread.unwrap_or(*pid), comm, state)
            }
            Entity::Mount { path, device, fs_type } => Entity::mount(path, clean(device, 40), fs_type),
            Entity::Volume { name } => Entity::volume(name),
            Entity::Container { id, name } => Entity::container(id, name),
            Entity::Sandbox { id } => Entity::sandbox(id),
            Entity::Cgroup { path } => Entity::cgroup(path),
            Entity::Path { path } => Entity::path(path),
            Entity::Device { path } => Entity::device(path),
            Entity::Object { kind, namespace, name } => {
                Entity::object(kind, namespace.as_deref().unwrap_or_default(), name)
            }
            Entity::CsiDriver { name } => Entity::csi_driver(name),
        }
    }

    /// A process by its leader.
    pub fn process(pid: u32, comm: &str, state: char) -> Self {
        Entity::Process { pid, thread: None, comm: clean(comm, 32), state }
    }

    /// One thread of a process.
    pub fn thread(pid: u32, tid: u32, comm: &str, state: char) -> Self {
        Entity::Process { pid, thread: (tid != pid).then_some(tid), comm: clean(comm, 32), state }
    }

    pub fn mount(path: &str, device: impl std::fmt::Display, fs_type: &str) -> Self {
        Entity::Mount { path: clean(path, MAX_TEXT_CHARS), device: device.to_string(), fs_type: clean(fs_type, 40) }
    }

    pub fn volume(name: &str) -> Self {
        Entity::Volume { name: clean(name, MAX_TEXT_CHARS) }
    }

    pub fn container(id: &str, name: &str) -> Self {
        Entity::Container { id: clean(id, 80), name: clean(name, 63) }
    }

    pub fn sandbox(id: &str) -> Self {
        Entity::Sandbox { id: clean(id, 80) }
    }

    pub fn cgroup(path: &str) -> Self {
        Entity::Cgroup { path: clean(path, MAX_TEXT_CHARS) }
    }

    pub fn path(path: &str) -> Self {
        Entity::Path { path: clean(path, MAX_TEXT_CHARS) }
    }

    pub fn device(path: &str) -> Self {
        Entity::Device { path: clean(path, 80) }
    }

    /// An object of the API; an empty namespace is none.
    pub fn object(kind: &str, namespace: &str, name: &str) -> Self {
        let namespace = (!namespace.is_empty()).then(|| clean(namespace, 63));
        Entity::Object { kind: clean(kind, 63), namespace, name: clean(name, 253) }
    }

    pub fn csi_driver(name: &str) -> Self {
        Entity::CsiDriver { name: clean(name, 80) }
    }
}

/// A thing and how it is called in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// `pid 338 ls`.
    pub text: String,
    /// The same as data; none for what has no handle: `the kernel`.
    pub what: Option<Entity>,
}

impl Subject {
    /// A thing called `text`.
    pub fn new(text: impl Into<String>, what: Entity) -> Self {
        Subject { text: text.into(), what: Some(what) }
    }

    /// Says more of the same thing.
    pub fn and(mut self, more: &str) -> Self {
        self.text.push_str(more);
        self
    }

    /// Puts a word before.
    pub fn called(mut self, word: &str) -> Self {
        self.text.insert_str(0, word);
        self
    }
}

impl From<String> for Subject {
    fn from(text: String) -> Self {
        Subject { text, what: None }
    }
}

impl From<&str> for Subject {
    fn from(text: &str) -> Self {
        Subject { text: text.to_owned(), what: None }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_json_is_stable() {
        let thread = Entity::thread(338, 341, "ja\u{1b}va", 'D');
        let json = r#"{"kind":"Process","pid":338,"thread":341,"comm":"ja\\u{1b}va","state":"D"}"#;
        assert_eq!(serde_json::to_string(&thread).unwrap(), json);
        assert_eq!(serde_json::from_str::<Entity>(json).unwrap(), thread);
        let mount = serde_json::to_value(Entity::mount("/mnt", "0:40", "fuse")).unwrap();
        assert_eq!(mount["fsType"], "fuse");
    }
}

//! What containerd and CRI-O put into the `info` of a verbose answer. Of ten kilobytes of JSON only what is
//! needed is read; the rest is passed over.

use cri::{Pairs, key};
use serde::Deserialize;

use crate::observation::{HostPath, Seen};

/// `PATH_MAX`.
const MAX_PATH_BYTES: usize = 4096;

/// The pinned network namespace in containerd's copy of the sandbox's runtime spec. Only a path
/// below the directory of pinned namespaces is believed: it will be looked at.
pub(super) fn network_of(info: &Pairs) -> Option<HostPath> {
    let info: WithSpec = serde_json::from_str(info.get(key::INFO)?).ok()?;
    let network = info.runtime_spec.linux.namespaces.into_iter().find(|namespace| namespace.kind == "network")?;
    let path = network.path;
    let is_pinned = path.len() <= MAX_PATH_BYTES
        && ["/var/run/netns/", "/run/netns/"].iter().any(|dir| path.starts_with(dir))
        && !path.contains("..");
    is_pinned.then(|| HostPath::from(path.as_str()))
}

/// containerd and CRI-O both put `pid` into the JSON of `info["info"]`.
pub(super) fn pid_of(info: &Pairs) -> Seen<u32> {
    let parsed = info.get(key::INFO).and_then(|text| serde_json::from_str::<WithPid>(text).ok());
    parsed.map_or(Seen::Missing, |info| Seen::Seen(info.pid))
}

#[derive(Deserialize)]
struct WithPid {
    pid: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WithSpec {
    runtime_spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    linux: Linux,
}

#[derive(Deserialize)]
struct Linux {
    namespaces: Vec<Namespace>,
}

#[derive(Deserialize)]
struct Namespace {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_instead_of_info_gives_no_pid() {
        for text in ["", "[]", "{\"pid\":-1}", "{\"pid\":\"7\"}", "{\"pid\":99999999999}"] {
            assert_eq!(pid_of(&Pairs::from_iter([(key::INFO, text.to_owned())])), Seen::Missing);
        }
        assert_eq!(pid_of(&Pairs::from_iter([(key::INFO, "{\"pid\":7}".to_owned())])), Seen::Seen(7));
    }

    #[test]
    fn only_a_pinned_network_namespace_is_believed() {
        let path_of = |namespaces: &str| {
            let text = format!("{{\"pid\":7,\"runtimeSpec\":{{\"linux\":{{\"namespaces\":[{namespaces}]}}}}}}");
            network_of(&Pairs::from_iter([(key::INFO, text)]))
        };
        let network = |path: &str| path_of(&format!(r#"{{"type":"pid"}},{{"type":"network","path":"{path}"}}"#));
        assert_eq!(network("/var/run/netns/cni-1"), Some(HostPath::from("/var/run/netns/cni-1")));
        assert_eq!(network("/var/run/netns/../../etc"), None);
        assert_eq!(network("/etc/passwd"), None);
        assert_eq!(path_of(r#"{"type":"network"}"#), None);
        assert_eq!(path_of(r#"{"type":"network","path":7}"#), None);
    }
}

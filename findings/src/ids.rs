//! Who is meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A pod's uid as the node knows it: an RFC 4122 UUID for pods of the API, or 32 hexadecimal
/// digits without dashes for static pods (MD5 up to 1.34, FNV-128a since).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct PodUid(String);

/// A text that is no uid.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no pod uid")]
pub struct NoUid(String);

impl TryFrom<String> for PodUid {
    type Error = NoUid;

    fn try_from(text: String) -> Result<Self, NoUid> {
        PodUid::parse(&text).ok_or_else(|| NoUid(crate::clean(&text, 40)))
    }
}

impl From<PodUid> for String {
    fn from(uid: PodUid) -> String {
        uid.0
    }
}

impl PodUid {
    /// Takes a text that has the shape of a uid; anything else is `None`.
    ///
    /// Directory names and labels come through here, so that no `..` or newline gets into a path or a report.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_hexdigit());
        let uuid = text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && text.split('-').all(hex);
        let hash = text.len() == 32 && hex(text);
        (uuid || hash).then(|| PodUid(text.to_owned()))
    }

    /// The uid as the kubelet writes it in `pods/<uid>` and, with the cgroupfs driver, in
    /// `pod<uid>`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a static pod's: a hash, which the API server need not know.
    pub fn is_static(&self) -> bool {
        !self.0.contains('-')
    }

    /// The uid as the systemd cgroup driver writes it (dashes become underscores).
    pub fn systemd_name(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl std::fmt::Display for PodUid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pod, as far as it is known: an orphaned directory shows only the uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PodRef {
    /// The namespace, if the API or the runtime reported it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub namespace: Option<String>,
    /// The name, if the API or the runtime reported it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Always known.
    pub uid: PodUid,
}

impl std::fmt::Display for PodRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, "{}/{}", crate::clean(namespace, 63), crate::clean(name, 253)),
            _ => write!(f, "{}", self.uid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_both_shapes_of_uid() {
        assert!(PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba1").is_some());
        assert!(PodUid::parse("0123456789abcdef0123456789abcdef").is_some());
    }

    #[test]
    fn refuses_what_could_leave_the_directory() {
        assert!(serde_json::from_str::<PodUid>("\"../../etc\"").is_err(), "nor from JSON");
        for bad in ["", "..", "96fb425e-919e-44f9-8b42-b1254a602ba1/..", "96fb425e-919e-44f9-8b42-b1254a602ba\n"] {
            assert_eq!(PodUid::parse(bad), None, "{bad:?}");
        }
    }
}

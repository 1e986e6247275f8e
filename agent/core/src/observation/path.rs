//! A path of the host, as bytes: mount points need not be UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as the kernel gave it. Saved as text where it is UTF-8, else as a list of bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HostPath(Vec<u8>);

impl HostPath {
    /// Takes the bytes as they are.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        HostPath(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path, for system calls.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The path as text, if it is UTF-8; only such a path is put into a command.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The path for people: bounded and cleaned.
    pub fn show(&self) -> String {
        findings::clean(&String::from_utf8_lossy(&self.0), 300)
    }

    /// Whether it is `parent` or lies below it.
    pub fn is_within(&self, parent: &HostPath) -> bool {
        self.as_path().starts_with(parent.as_path())
    }

    /// Whether it lies below `parent` and is not `parent`.
    pub fn is_below(&self, parent: &HostPath) -> bool {
        self != parent && self.is_within(parent)
    }

    /// The rest of the path below `above`, if it is text.
    pub fn relative_to(&self, above: &HostPath) -> Option<String> {
        self.as_path().strip_prefix(above.as_path()).ok()?.to_str().map(str::to_owned)
    }

    /// The directory that it is in.
    pub fn parent(&self) -> Option<HostPath> {
        self.as_path().parent().map(|parent| HostPath::from(parent.to_owned()))
    }

    /// The path with one more component.
    pub fn join(&self, name: impl AsRef<OsStr>) -> HostPath {
        HostPath::from(self.as_path().join(Path::new(name.as_ref())))
    }
}

impl From<PathBuf> for HostPath {
    fn from(path: PathBuf) -> Self {
        HostPath(path.into_os_string().as_bytes().to_vec())
    }
}

impl From<&str> for HostPath {
    fn from(path: &str) -> Self {
        HostPath(path.as_bytes().to_vec())
    }
}

impl std::fmt::Debug for HostPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

impl Serialize for HostPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_str() {
            Some(text) => serializer.serialize_str(text),
            None => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for HostPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Saved {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(HostPath(match Saved::deserialize(deserializer)? {
            Saved::Text(text) => text.into_bytes(),
            Saved::Bytes(bytes) => bytes,
        }))
    }
}

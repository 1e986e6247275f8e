//! Where the objects are: one JSON file each.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io, process};

use anyhow::Context as _;
use serde_json::Value;

use crate::{Faults, Prepared, Request, requests};

/// A directory with a JSON file for each object: `<plural>/<name>.json`, or
/// `<plural>/<namespace>/<name>.json` where the resource has namespaces. Resources that only a
/// recording knows are at `<group or "core">/<version>/<plural>/…`. A file that holds `null`
/// hides the recorded object of that place.
///
/// Beside them: `faults.json`, `tokens.json`, `requests.ndjson`, and maybe a `recording`.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    recording: Option<PathBuf>,
    is_then: bool,
    has_namespaces_of_objects: bool,
    prepared: Arc<[Arc<Prepared>]>,
    asked_by: &'static [&'static str],
}

impl Store {
    /// Uses `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            recording: None,
            is_then: false,
            has_namespaces_of_objects: false,
            prepared: Arc::new([]),
            asked_by: &[],
        }
    }

    /// Lets the fake answer from the recording in `dir` what no file here says otherwise.
    pub fn with_recording(mut self, dir: impl Into<PathBuf>) -> Self {
        self.recording = Some(dir.into());
        self
    }

    /// Lets the fake say that it is the time of the recording, so that what was recorded is not judged as old.
    pub fn at_the_time_of_the_recording(mut self) -> Self {
        self.is_then = true;
        self
    }

    pub(crate) fn is_then(&self) -> bool {
        self.is_then
    }

    /// Lets each namespace exist that an object lies in, although none was put there.
    pub fn with_namespaces_of_objects(mut self) -> Self {
        self.has_namespaces_of_objects = true;
        self
    }

    pub(crate) fn has_namespaces_of_objects(&self) -> bool {
        self.has_namespaces_of_objects
    }

    /// Who asks where a request has no User-Agent, as that of a client in the same process: it is granted what all of
    /// these programs may do.
    pub fn asked_by(mut self, programs: &'static [&'static str]) -> Self {
        self.asked_by = programs;
        self
    }

    pub(crate) fn programs(&self) -> &'static [&'static str] {
        self.asked_by
    }

    /// Adds objects below the files that are too many to be files.
    pub fn with_prepared(mut self, objects: impl IntoIterator<Item = Prepared>) -> Self {
        self.prepared = objects.into_iter().map(Arc::new).collect();
        self
    }

    pub(crate) fn prepared(&self) -> &[Arc<Prepared>] {
        &self.prepared
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The recording to answer from: the one named, else the one inside the store.
    pub(crate) fn recording(&self) -> Option<PathBuf> {
        let inside = self.root.join("recording");
        self.recording.clone().or_else(|| inside.join("index.json").exists().then_some(inside))
    }

    /// Adds or replaces an object of the resource that is kept in `dir` (its plural, such as `events`).
    pub fn put(&self, dir: &str, namespace: Option<&str>, name: &str, object: &Value) -> anyhow::Result<()> {
        write(&self.place(dir, namespace, name)?, &serde_json::to_vec_pretty(object)?).map(drop)
    }

    /// The object, if there is one of that name.
    pub fn get(&self, dir: &str, namespace: Option<&str>, name: &str) -> anyhow::Result<Option<Value>> {
        read(&self.place(dir, namespace, name)?)
    }

    /// Removes an object; `false` when there was none.
    pub fn remove(&self, dir: &str, namespace: Option<&str>, name: &str) -> anyhow::Result<bool> {
        let path = self.place(dir, namespace, name)?;
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("remove {}", path.display())),
        }
    }

    /// All objects of the namespaced resource that is kept in `dir`, in the order of their names.
    pub fn list(&self, dir: &str) -> anyhow::Result<Vec<Value>> {
        let mut files = Vec::new();
        for namespace in entries(&self.root.join(dir))? {
            files.extend(entries(&namespace)?);
        }
        files.sort();
        let mut objects = Vec::new();
        for file in files {
            objects.extend(read(&file)?);
        }
        Ok(objects)
    }

    /// The Node object, if there is one of that name.
    pub fn node(&self, name: &str) -> anyhow::Result<Option<Value>> {
        self.get("nodes", None, name)
    }

    /// The PersistentVolume object, if there is one of that name.
    pub fn persistent_volume(&self, name: &str) -> anyhow::Result<Option<Value>> {
        self.get("persistentvolumes", None, name)
    }

    /// Adds or replaces a PersistentVolume.
    pub fn put_persistent_volume(&self, name: &str, object: &Value) -> anyhow::Result<()> {
        self.put("persistentvolumes", None, name, object)
    }

    /// The Pod object, if there is one of that name.
    pub fn pod(&self, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
        self.get("pods", Some(namespace), name)
    }

    /// All pods, in the order of their names.
    pub fn pods(&self) -> anyhow::Result<Vec<Value>> {
        self.list("pods")
    }

    /// Adds or replaces a Node.
    pub fn put_node(&self, name: &str, object: &Value) -> anyhow::Result<()> {
        self.put("nodes", None, name, object)
    }

    /// Adds or replaces a Pod.
    pub fn put_pod(&self, namespace: &str, name: &str, object: &Value) -> anyhow::Result<()> {
        self.put("pods", Some(namespace), name, object)
    }

    /// Removes a Pod; `false` when there was none.
    pub fn remove_pod(&self, namespace: &str, name: &str) -> anyhow::Result<bool> {
        self.remove("pods", Some(namespace), name)
    }

    /// Adds or replaces a Namespace.
    pub fn put_namespace(&self, name: &str, object: &Value) -> anyhow::Result<()> {
        self.put("namespaces", None, name, object)
    }

    /// All events, in the form of events.k8s.io/v1.
    pub fn events(&self) -> anyhow::Result<Vec<Value>> {
        self.list("events")
    }

    /// Sets what goes wrong from now on.
    pub fn set_faults(&self, faults: &Faults) -> anyhow::Result<()> {
        write(&self.root.join(FAULTS), &serde_json::to_vec_pretty(faults)?).map(drop)
    }

    /// Asks for one of these bearer tokens from now on.
    pub fn set_tokens(&self, tokens: &[&str]) -> anyhow::Result<()> {
        write(&self.root.join(TOKENS), &serde_json::to_vec_pretty(tokens)?).map(drop)
    }

    /// The tokens that are asked for, if any.
    pub(crate) fn tokens(&self) -> anyhow::Result<Option<Vec<String>>> {
        let tokens = read(&self.root.join(TOKENS))?;
        tokens.map(|tokens| serde_json::from_value(tokens).context("tokens.json is a list of strings")).transpose()
    }

    pub(crate) fn faults(&self) -> anyhow::Result<Faults> {
        let faults = read(&self.root.join(FAULTS))?;
        let faults = faults.map(|faults| serde_json::from_value(faults).context("faults.json is a list of rules"));
        Ok(faults.transpose()?.unwrap_or_default())
    }

    /// Every request so far, in the order in which they were answered; those that are still open are
    /// where they began.
    pub fn requests(&self) -> anyhow::Result<Vec<Request>> {
        requests::read(&self.request_log())
    }

    pub(crate) fn request_log(&self) -> PathBuf {
        self.root.join("requests.ndjson")
    }

    pub(crate) fn place(&self, dir: &str, namespace: Option<&str>, name: &str) -> anyhow::Result<PathBuf> {
        let mut path = self.root.join(dir);
        if let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) {
            anyhow::ensure!(is_name(namespace), "{namespace:?} is no name of a namespace");
            path.push(namespace);
        }
        Ok(path.join(file(name)?))
    }
}

pub(crate) const FAULTS: &str = "faults.json";
pub(crate) const TOKENS: &str = "tokens.json";

/// By this a file is known to be the one that was read or written last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    changed: (i64, i64),
    size: u64,
}

impl Stamp {
    /// `None`: there is no such file.
    pub(crate) fn of(path: &Path) -> anyhow::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::from(&metadata))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("look at {}", path.display())),
        }
    }
}

impl From<&fs::Metadata> for Stamp {
    fn from(metadata: &fs::Metadata) -> Self {
        Self { inode: metadata.ino(), changed: (metadata.mtime(), metadata.mtime_nsec()), size: metadata.len() }
    }
}

/// Names come from request paths: one with a slash or dots in front must not leave the directory.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0'])
}

fn file(name: &str) -> anyhow::Result<String> {
    anyhow::ensure!(is_name(name), "{name:?} is no name of an object");
    Ok(format!("{name}.json"))
}

fn entries(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(dir) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("list {}", dir.display())),
    };
    let mut paths = Vec::new();
    for entry in listing {
        let path = entry?.path();
        // A file being written has another suffix until it is complete.
        if path.is_dir() || path.extension().is_some_and(|suffix| suffix == "json") {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// `None`: no such file, or one that says there is nothing.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<Value>> {
    match fs::read(path) {
        Ok(bytes) => {
            let value: Value = serde_json::from_slice(&bytes).with_context(|| format!("parse {}", path.display()))?;
            Ok(Some(value).filter(|value| !value.is_null()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
    }
}

/// Writes beside the file and renames, because a request may read it at any moment.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<Stamp> {
    // Several processes may write the same object.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let own = format!("{}-{}.unfinished", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let unfinished = path.with_extension(own);
    if let Err(error) = fs::write(&unfinished, bytes) {
        anyhow::ensure!(error.kind() == io::ErrorKind::NotFound, "write {}: {error}", unfinished.display());
        let dir = path.parent().context("an object's file lies in a directory")?;
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        fs::write(&unfinished, bytes).with_context(|| format!("write {}", unfinished.display()))?;
    }
    // A rename keeps inode, time of change and size.
    let metadata = fs::metadata(&unfinished).with_context(|| format!("look at {}", unfinished.display()))?;
    fs::rename(&unfinished, path).with_context(|| format!("rename to {}", path.display()))?;
    Ok(Stamp::from(&metadata))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_there_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        assert!(store.pods().unwrap().is_empty());
        store.put_pod("a", "b", &json!({"kind": "Pod"})).unwrap();
        assert_eq!(store.pods().unwrap().len(), 1);
        assert!(store.remove_pod("a", "b").unwrap());
        assert!(!store.remove_pod("a", "b").unwrap());
        assert!(store.pod("a", "b").unwrap().is_none());
    }

    #[test]
    fn names_do_not_leave_the_directory() {
        let store = Store::new("/nonexistent");
        assert!(store.pod("..", "x").is_err());
        assert!(store.node("../x").is_err());
    }
}

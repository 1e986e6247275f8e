//! Where the objects are: one JSON file each.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::Value;

/// A directory with `nodes/<name>.json`, `persistentvolumes/<name>.json` and
/// `pods/<namespace>/<name>.json`.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Uses `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The Node object, if there is one of that name.
    pub fn node(&self, name: &str) -> anyhow::Result<Option<Value>> {
        read(&self.root.join("nodes").join(file(name)?))
    }

    /// The PersistentVolume object, if there is one of that name.
    pub fn persistent_volume(&self, name: &str) -> anyhow::Result<Option<Value>> {
        read(&self.root.join("persistentvolumes").join(file(name)?))
    }

    /// Adds or replaces a PersistentVolume.
    pub fn put_persistent_volume(&self, name: &str, object: &Value) -> anyhow::Result<()> {
        write(&self.root.join("persistentvolumes").join(file(name)?), object)
    }

    /// The Pod object, if there is one of that name.
    pub fn pod(&self, namespace: &str, name: &str) -> anyhow::Result<Option<Value>> {
        read(&self.pod_file(namespace, name)?)
    }

    /// All pods, in the order of their names, so that paging is stable.
    pub fn pods(&self) -> anyhow::Result<Vec<Value>> {
        let mut files = Vec::new();
        for namespace in entries(&self.root.join("pods"))? {
            files.extend(entries(&namespace)?);
        }
        files.sort();
        let mut pods = Vec::new();
        for file in files {
            pods.extend(read(&file)?);
        }
        Ok(pods)
    }

    /// Adds or replaces a Node.
    pub fn put_node(&self, name: &str, object: &Value) -> anyhow::Result<()> {
        write(&self.root.join("nodes").join(file(name)?), object)
    }

    /// Adds or replaces a Pod.
    pub fn put_pod(&self, namespace: &str, name: &str, object: &Value) -> anyhow::Result<()> {
        write(&self.pod_file(namespace, name)?, object)
    }

    /// Removes a Pod; `false` when there was none.
    pub fn remove_pod(&self, namespace: &str, name: &str) -> anyhow::Result<bool> {
        match fs::remove_file(self.pod_file(namespace, name)?) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("remove pod {namespace}/{name}")),
        }
    }

    fn pod_file(&self, namespace: &str, name: &str) -> anyhow::Result<PathBuf> {
        anyhow::ensure!(is_name(namespace), "{namespace:?} is no name of a namespace");
        Ok(self.root.join("pods").join(namespace).join(file(name)?))
    }
}

/// Names come from request paths: one with a slash or dots in front must not leave the directory.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains('/')
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

fn read(path: &Path) -> anyhow::Result<Option<Value>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).with_context(|| format!("parse {}", path.display()))?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
    }
}

/// Writes beside the file and renames, because a request may read it at any moment.
fn write(path: &Path, object: &Value) -> anyhow::Result<()> {
    let dir = path.parent().context("an object's file lies in a directory")?;
    fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, serde_json::to_vec_pretty(object)?)
        .with_context(|| format!("write {}", unfinished.display()))?;
    fs::rename(&unfinished, path).with_context(|| format!("rename to {}", path.display()))
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

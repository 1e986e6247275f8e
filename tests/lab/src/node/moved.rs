//! What printed steps move out of the kubelet's way (`mv … "$(mktemp -d /var/tmp/moved.XXXXXX)"`). A user may want it back;
//! a test removes it.

use std::{collections::BTreeSet, fs, path::PathBuf};

const DIR: &str = "/var/tmp";
const PREFIX: &str = "moved.";

/// What was there before belongs to another process.
pub struct Moved(BTreeSet<PathBuf>);

impl Moved {
    /// Remembers what is there.
    pub fn from_now_on() -> Self {
        Moved(all().collect())
    }

    /// Removes what came since.
    pub fn remove(&self) {
        for dir in all().filter(|dir| !self.0.contains(dir)) {
            if let Err(error) = fs::remove_dir_all(&dir) {
                eprintln!("lab: {} stays: {error}", dir.display());
            }
        }
    }
}

fn all() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(DIR).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)).map(|entry| entry.path())
}

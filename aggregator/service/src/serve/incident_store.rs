//! The file that keeps incidents over restarts.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::incidents::{Incident, file};
use tokio::sync::watch::Receiver;

use crate::published::Published;

/// Between two writes, which may take a thousandth of the time.
const MIN_WRITE_INTERVAL: Duration = Duration::from_secs(10);
const SHARE: u32 = 1000;
/// A crash loses no more.
const MAX_WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// What an earlier run has kept. A damaged file is set aside for inspection: the service goes on without it.
pub fn read(path: &Path) -> Vec<Incident> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(file::MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the kept incidents cannot be read; going on without them");
            return Vec::new();
        }
        Ok(_) => {}
    }
    file::decode(&bytes).unwrap_or_else(|error| {
        let aside = path.with_extension("damaged");
        let moved = fs::rename(path, &aside).is_ok();
        tracing::warn!(path = %path.display(), %error, aside = %aside.display(), moved, "the kept incidents are damaged");
        Vec::new()
    })
}

/// Writes whenever something has changed, until the publisher ends.
pub async fn keep(path: PathBuf, mut published: Receiver<Published>) {
    let mut written = 0;
    let mut failed = false;
    loop {
        let begin = Instant::now();
        let (version, incidents) = {
            let published = published.borrow_and_update();
            (published.version, published.incidents.clone())
        };
        if version != written {
            let path = path.clone();
            let result = tokio::task::spawn_blocking(move || write(&path, &incidents)).await;
            let result = result.unwrap_or_else(|error| Err(std::io::Error::other(error)));
            match result {
                Ok(()) => (written, failed) = (version, false),
                // Said once: the disk may be full for long.
                Err(error) if !failed => {
                    tracing::warn!(%error, "incidents cannot be written; they are kept in memory");
                    failed = true;
                }
                Err(_) => {}
            }
        }
        tokio::time::sleep((begin.elapsed() * SHARE).clamp(MIN_WRITE_INTERVAL, MAX_WRITE_INTERVAL)).await;
        if !failed && published.changed().await.is_err() {
            return;
        }
    }
}

/// Whole or not at all: a crash in between leaves the file of before.
fn write(path: &Path, incidents: &[Arc<Incident>]) -> std::io::Result<()> {
    let beside = path.with_extension("new");
    let mut out = BufWriter::new(File::create(&beside)?);
    let written = file::encode(&mut out, incidents.iter().map(Arc::as_ref))
        .and_then(|()| out.flush())
        .and_then(|()| out.get_ref().sync_all())
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("incidents");
        assert_eq!(read(&path), vec![]);
        write(&path, &[]).unwrap();
        assert!(path.exists());
        assert_eq!(read(&path), vec![]);
        fs::write(&path, "why-terminating-incidents 1\n{}\n00\n").unwrap();
        assert_eq!(read(&path), vec![]);
        assert!(!path.exists() && dir.path().join("incidents.damaged").exists());
    }

    #[test]
    fn a_full_disk_leaves_the_file_of_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("incidents");
        write(&path, &[]).unwrap();
        let before = fs::read(&path).unwrap();
        // A directory stands where the new file is to be written.
        fs::create_dir(dir.path().join("incidents.new")).unwrap();
        assert!(write(&path, &[]).is_err());
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

//! Which files on pods' volumes a process can write to: its descriptors that were opened for writing, and where it has
//! none of those, its shared mappings.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::descriptors::{self, Walk};
use super::mounts::{MountReader, living};
use super::prober::{Mapping, Prober};
use crate::observation::{Dev, Fault, FaultKind, HostPath, Mount, WritableFile, WritableFiles, covering};
use crate::parse;
use crate::sys::ProcDir;
use crate::sys::limits::MAX_LINE_BYTES;

/// More of one process are not named.
const MAX_FILES: usize = 16;
/// `O_ACCMODE`, and what it is for reading only.
const ACCESS_MODE: u32 = 0o3;
/// A descriptor that only names its file.
const O_PATH: u32 = 0o10_000_000;

/// Of each of these processes those on one of `devs`. Together they get `deadline`, and their mappings once more.
pub fn files(
    pids: &[u32],
    devs: &BTreeSet<Dev>,
    reader: &mut MountReader,
    prober: &Prober,
    deadline: Duration,
) -> Vec<WritableFiles> {
    let end = Instant::now() + deadline;
    let mut writable: Vec<WritableFiles> = pids.iter().map(|pid| opened(*pid, devs, reader, end)).collect();
    let unexplained = writable.iter().filter(|one| one.files.is_empty() && one.fault.is_none()).map(|one| one.pid);
    let unexplained: Vec<u32> = unexplained.collect();
    if devs.is_empty() || unexplained.is_empty() {
        return writable;
    }
    let mapped = prober.writable_mappings(devs, &unexplained, deadline);
    for one in writable.iter_mut().filter(|one| unexplained.contains(&one.pid)) {
        let is_its = |file: &&Mapping| file.pid == one.pid && Some(file.start_ticks) == one.start_ticks;
        let files = mapped.found.iter().filter(is_its);
        one.files = files.filter_map(|file| mapping(file, reader)).take(MAX_FILES).collect();
        if !mapped.looked_at.contains(&one.pid) {
            one.fault = mapped.fault.clone();
        }
    }
    writable
}

fn opened(pid: u32, devs: &BTreeSet<Dev>, reader: &mut MountReader, end: Instant) -> WritableFiles {
    let nothing = |fault| WritableFiles { pid, start_ticks: None, files: Vec::new(), fault };
    let dir = match living(pid) {
        Ok((dir, _)) => dir,
        Err(error) if crate::sys::is_gone(&error) => return nothing(None),
        Err(error) => return nothing(Some(Fault::new(format!("/proc/{pid}/fd"), error))),
    };
    let mounts = match mounts_seen(pid, devs, reader) {
        Ok(mounts) => mounts,
        Err(fault) => return nothing(Some(fault)),
    };
    let mut files = Vec::new();
    let walk = descriptors::walk(&dir, end, |fd, path| {
        if mounts.is_empty() || !path.starts_with(b"/") || files.len() >= MAX_FILES {
            return;
        }
        let mount = opened_for_writing(&dir, fd, path).and_then(|id| mounts.iter().find(|mount| mount.id == id));
        files.extend(mount.map(|mount| file(mount, HostPath::new(path), Some(fd))));
    });
    let fault = match walk {
        Walk::Whole => None,
        Walk::Denied => Some((FaultKind::Denied, "may not be listed")),
        Walk::CutOff => Some((FaultKind::TimedOut, "has more descriptors than could be looked at in time")),
    };
    let fault = fault.map(|why| Fault::new(format!("/proc/{pid}/fd"), why));
    WritableFiles { pid, start_ticks: started(&dir), files, fault }
}

fn started(dir: &ProcDir) -> Option<u64> {
    Some(parse::stat(&dir.read("stat", MAX_LINE_BYTES).ok()?)?.start_ticks)
}

/// The mounts of these file systems that a process can see.
fn mounts_seen(pid: u32, devs: &BTreeSet<Dev>, reader: &mut MountReader) -> Result<Vec<Mount>, Fault> {
    match reader.table(pid) {
        Ok(table) => Ok(table.mounts(|mount| devs.contains(&mount.dev)).mounts),
        Err(error) if crate::sys::is_gone(&error) => Ok(Vec::new()),
        Err(error) => Err(Fault::new(format!("/proc/{pid}/mountinfo"), error)),
    }
}

/// The mount that a descriptor was opened through, if it was opened for writing.
fn opened_for_writing(dir: &ProcDir, fd: u32, link: &[u8]) -> Option<u32> {
    let info = parse::fdinfo(&dir.fdinfo(fd, link).ok()?);
    info.flags.filter(|flags| flags & ACCESS_MODE != 0 && flags & O_PATH == 0)?;
    info.mount_id
}

/// A mapping shows no mount, so its path must decide.
fn mapping(Mapping { pid, dev, path, .. }: &Mapping, reader: &mut MountReader) -> Option<WritableFile> {
    let table = reader.table(*pid).ok()?;
    let mounts = table.mounts(|_| true).mounts;
    covering(&mounts, path).filter(|mount| mount.dev == *dev).map(|mount| file(mount, path.clone(), None))
}

fn file(mount: &Mount, path: HostPath, fd: Option<u32>) -> WritableFile {
    WritableFile { dev: mount.dev, root: mount.root.clone(), path, fd }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::fd::AsRawFd;
    use std::process::{Child, Command};

    /// Every file system: the test does not know on which it is.
    fn devices(pid: u32) -> (BTreeSet<Dev>, MountReader) {
        let mut reader = MountReader::new(HostPath::from("/var/lib/kubelet"));
        let devs = reader.table(pid).unwrap().mounts(|_| true).mounts.into_iter().map(|mount| mount.dev).collect();
        (devs, reader)
    }

    fn writable_by(pid: u32) -> WritableFiles {
        let (devs, mut reader) = devices(pid);
        files(&[pid], &devs, &mut reader, &Prober::default(), Duration::from_secs(5)).remove(0)
    }

    #[test]
    fn a_file_that_is_open_for_writing_is_told_and_one_for_reading_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let written = File::create(dir.path().join("written")).unwrap();
        let read = File::open(dir.path().join("written")).unwrap();
        let writable = writable_by(std::process::id());
        let has = |file: &File| writable.files.iter().any(|one| one.fd == u32::try_from(file.as_raw_fd()).ok());
        // Of many only some are named, and other tests of this process open files too.
        assert!(has(&written) || writable.files.len() == MAX_FILES, "{writable:?}");
        assert!(!has(&read), "{writable:?}");
    }

    struct Ends(Child);

    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_shell_that_appends_to_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let script = format!("exec >>'{}' 2>/dev/null </dev/null; echo on; exec sleep 60", log.display());
        let child = Ends(Command::new("sh").args(["-c", &script]).spawn().unwrap());
        while fs::read_to_string(&log).unwrap_or_default().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let writable = writable_by(child.0.id());
        let file = writable.files.iter().find(|file| file.path.as_path() == log).unwrap();
        assert_eq!((file.fd, writable.fault), (Some(1), None));
        let (_, mut reader) = devices(child.0.id());
        let none = files(&[child.0.id()], &BTreeSet::new(), &mut reader, &Prober::default(), Duration::from_secs(5));
        assert_eq!(none[0].files, [], "no pod has a volume on it");
    }

    #[test]
    fn a_process_that_is_gone_writes_nothing() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (devs, mut reader) = devices(std::process::id());
        let writable = files(&[child.id()], &devs, &mut reader, &Prober::default(), Duration::from_secs(5));
        assert_eq!(writable, [WritableFiles { pid: child.id(), start_ticks: None, files: Vec::new(), fault: None }]);
    }

    /// The search ends when its time is up.
    #[test]
    fn time_that_is_up_is_told() {
        let (devs, mut reader) = devices(std::process::id());
        let writable = opened(std::process::id(), &devs, &mut reader, Instant::now() - Duration::from_secs(1));
        assert!(writable.files.is_empty() && writable.fault.is_some_and(|fault| fault.kind == FaultKind::TimedOut));
    }
}

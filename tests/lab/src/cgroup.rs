//! Cgroups, in every hierarchy at once, as the kubelet's cgroupfs driver treats them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::{mounts, wait_for};

/// What the kubelet stand-in is given as `--cgroup-root`: all pods of the lab are below it.
pub const PODS: &str = "/why-terminating-lab";

/// That of a second kubelet, still below the first so that clean-up finds it.
pub const SECOND_PODS: &str = "/why-terminating-lab/second";

/// Where every other process of the lab is, in one hierarchy only: with version 1 their place in the
/// other hierarchies looks like a real node's, with version 2 their unit is below it.
pub const HOST: &str = "/why-terminating-lab-host";

/// The only hierarchy, where the machine has no version 1.
const UNIFIED: &str = "/sys/fs/cgroup";

/// Whether the machine has version 2 only.
pub fn is_unified() -> bool {
    Path::new(UNIFIED).join("cgroup.controllers").exists()
}

/// The hierarchy that [`HOST`] is in.
pub fn tagging() -> &'static Path {
    Path::new(if is_unified() { UNIFIED } else { "/sys/fs/cgroup/pids" })
}

/// The mount points of all hierarchies, version 1 and 2.
pub fn hierarchies() -> anyhow::Result<Vec<PathBuf>> {
    let found = mounts::below(Path::new("/sys/fs/cgroup"))?;
    let found = found.into_iter().filter(|mount| mount.kind == "cgroup" || mount.kind == "cgroup2");
    Ok(found.map(|mount| mount.target).collect())
}

/// The directories of the cgroup `path` that exist.
pub fn directories(path: &str) -> anyhow::Result<Vec<PathBuf>> {
    Ok(hierarchies()?.iter().map(|root| below(root, path)).filter(|dir| dir.is_dir()).collect())
}

/// The directory of the cgroup `path` under one hierarchy's mount point.
pub fn below(hierarchy: &Path, path: &str) -> PathBuf {
    hierarchy.join(path.trim_start_matches('/'))
}

/// Makes the cgroup `path` in every hierarchy.
pub fn create(path: &str) -> anyhow::Result<()> {
    for root in hierarchies()? {
        create_in(&root, path)?;
    }
    Ok(())
}

/// Makes the cgroup `path` in one hierarchy.
pub fn create_in(hierarchy: &Path, path: &str) -> anyhow::Result<PathBuf> {
    let mut dir = hierarchy.to_owned();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let parent = dir.clone();
        dir.push(part);
        match fs::create_dir(&dir) {
            Ok(()) => inherit_cpuset(&parent, &dir)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("create the cgroup {}", dir.display())),
        }
    }
    Ok(dir)
}

/// A version 1 cpuset takes no process until it has processors and memory nodes.
fn inherit_cpuset(parent: &Path, child: &Path) -> anyhow::Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let given = parent.join(file);
        if child.starts_with("/sys/fs/cgroup/cpuset") && given.exists() {
            let value = fs::read(&given).with_context(|| format!("read {}", given.display()))?;
            fs::write(child.join(file), value).with_context(|| format!("write {file} in {}", child.display()))?;
        }
    }
    Ok(())
}

/// Moves a process into one cgroup directory.
pub fn join(dir: &Path, pid: i32) -> anyhow::Result<()> {
    fs::write(dir.join("cgroup.procs"), pid.to_string())
        .with_context(|| format!("move process {pid} into the cgroup {}", dir.display()))
}

/// Puts the calling process where a systemd unit's process is, and marks it as the lab's.
pub fn enter_unit(unit: &str) -> anyhow::Result<()> {
    let pid = i32::try_from(std::process::id())?;
    if is_unified() {
        return join(&create_in(tagging(), &format!("{HOST}{}", unit_path(unit)))?, pid);
    }
    join(&create_in(tagging(), HOST)?, pid)?;
    join_below_systemd(&unit_path(unit), pid)
}

/// Takes a process out of its unit, as a kubelet in a container of its node is in none (kind, k3d); it stays the lab's.
pub fn leave_unit(pid: i32) -> anyhow::Result<()> {
    let outside = format!("{HOST}/docker/node");
    if is_unified() { join(&create_in(tagging(), &outside)?, pid) } else { join_below_systemd(&outside, pid) }
}

/// Where systemd says which unit a process is of: its own hierarchy of version 1, and version 2 beside it.
fn join_below_systemd(path: &str, pid: i32) -> anyhow::Result<()> {
    for hierarchy in ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"] {
        if Path::new(hierarchy).is_dir() {
            join(&create_in(Path::new(hierarchy), path)?, pid)?;
        }
    }
    Ok(())
}

/// The cgroup of a systemd service.
pub fn unit_path(unit: &str) -> String {
    format!("/system.slice/{unit}.service")
}

/// Makes the cgroup `path`, with at most so many bytes of memory, and says where it is.
pub fn with_memory_limit(path: &str, bytes: u64) -> anyhow::Result<PathBuf> {
    let (root, file) = memory();
    let dir = create_in(root, path)?;
    enable("memory", &dir)?;
    fs::write(dir.join(file), bytes.to_string()).with_context(|| format!("limit the memory of {}", dir.display()))?;
    Ok(dir)
}

/// Makes the cgroup `path`, with at most so many processes and threads.
pub fn with_pids_limit(path: &str, most: usize) -> anyhow::Result<()> {
    let dir = create_in(tagging(), path)?;
    enable("pids", &dir)?;
    fs::write(dir.join("pids.max"), most.to_string()).with_context(|| format!("limit the pids of {}", dir.display()))
}

/// Has this controller work in the cgroup `dir`, where that has to be said.
fn enable(controller: &str, dir: &Path) -> anyhow::Result<()> {
    let above = dir.ancestors().skip(1).take_while(|above| is_unified() && above.starts_with(UNIFIED));
    for above in above.collect::<Vec<_>>().into_iter().rev() {
        fs::write(above.join("cgroup.subtree_control"), format!("+{controller}"))
            .with_context(|| format!("enable {controller} below {}", above.display()))?;
    }
    Ok(())
}

/// How often the limit of this cgroup was met.
pub fn times_limited(dir: &Path) -> anyhow::Result<u64> {
    let read = |file: &str| fs::read_to_string(dir.join(file)).with_context(|| format!("read {file}"));
    let number = if is_unified() {
        let events = read("memory.events")?;
        events.lines().find_map(|line| line.strip_prefix("max ")).context("memory.events has max")?.to_owned()
    } else {
        read("memory.failcnt")?
    };
    number.trim().parse().with_context(|| format!("no number: {number:?}"))
}

/// How many bytes of memory the cgroup of this process may have.
pub fn memory_limit_of(pid: &str) -> anyhow::Result<u64> {
    let (root, file) = memory();
    let cgroups = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
    let its = if is_unified() { "::" } else { ":memory:" };
    let path = cgroups.lines().find_map(|line| line.split_once(its)).context("it is in no memory cgroup")?.1;
    let text = fs::read_to_string(below(root, path).join(file)).with_context(|| format!("read {file} of {path}"))?;
    text.trim().parse().with_context(|| format!("no number of bytes: {text:?}"))
}

/// The hierarchy with the memory controller, and its file with the limit.
fn memory() -> (&'static Path, &'static str) {
    if is_unified() {
        (Path::new(UNIFIED), "memory.max")
    } else {
        (Path::new("/sys/fs/cgroup/memory"), "memory.limit_in_bytes")
    }
}

/// All processes in these directories and below.
pub fn processes(dirs: &[PathBuf]) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    for dir in dirs.iter().flat_map(|dir| tree(dir)) {
        // A cgroup that has just been removed has no processes.
        let text = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        found.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|&pid| pid > 0));
    }
    found
}

/// All processes of the lab except those that hide in no cgroup because they are exiting.
pub fn all_processes() -> anyhow::Result<BTreeSet<i32>> {
    let mut dirs = directories(PODS)?;
    dirs.extend(directories(HOST)?);
    Ok(processes(&dirs))
}

/// Lets frozen processes go on, so that they can die.
pub fn thaw(path: &str) -> anyhow::Result<()> {
    for dir in directories(path)?.iter().flat_map(|dir| tree(dir)) {
        for (file, value) in [("freezer.state", "THAWED"), ("cgroup.freeze", "0")] {
            let file = dir.join(file);
            // Who has ended meanwhile takes its cgroup along.
            match fs::OpenOptions::new().write(true).open(&file).and_then(|mut file| file.write_all(value.as_bytes())) {
                Err(error)
                    if !matches!(error.kind(), ErrorKind::NotFound)
                        && error.raw_os_error() != Some(nix::libc::ENODEV) =>
                {
                    return Err(error).with_context(|| format!("thaw {}", file.display()));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// `dir` and everything below it, the deepest first.
pub fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(tree(&entry.path()));
        }
    }
    found.push(dir.to_owned());
    found
}

/// Removes one cgroup directory with all below it; the first that is busy ends it.
pub fn remove_tree(dir: &Path) -> io::Result<()> {
    for dir in tree(dir) {
        match fs::remove_dir(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io::Error::new(error.kind(), format!("rmdir {}: {error}", dir.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes what the lab has in all hierarchies, and the units it stood in.
pub fn remove_all(units: &[String]) -> anyhow::Result<()> {
    for path in [PODS, HOST] {
        for dir in directories(path)? {
            // The last process may have been killed a moment ago.
            wait_for(&format!("the cgroup {} can be removed", dir.display()), Duration::from_secs(5), || {
                Ok(remove_tree(&dir).ok())
            })?;
        }
    }
    for unit in units {
        for dir in directories(&unit_path(unit))? {
            // Not the lab's alone when something else is in it.
            let _ = fs::remove_dir(dir);
        }
    }
    for slice in directories("/system.slice")? {
        let _ = fs::remove_dir(slice);
    }
    Ok(())
}

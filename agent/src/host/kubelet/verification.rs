//! Which of the processes with a kubelet's name is the node's. A name is free to choose, and what the
//! kubelet says is acted upon: its files are read as root, its identity is used at the API server.

use std::io;

use crate::host::prober::{Executable, Prober};
use crate::observation::{Disbelief, Fault, Owner, Seen};
use crate::sys::limits::{MAX_LINE_BYTES, MAX_LINES_BYTES};
use crate::sys::{self, ProcDir};
use crate::{file_system, parse};

/// Why the process at `dir` is not believed, `Missing` when it has gone meanwhile.
pub(super) fn disbelief(pid: u32, dir: &ProcDir, prober: &Prober) -> Seen<Option<Disbelief>> {
    match judge(pid, dir, prober) {
        // If the opened process still lives, no other had its pid meanwhile.
        Ok(why) => match dir.read("stat", MAX_LINE_BYTES) {
            Ok(_) => Seen::Seen(why),
            Err(_) => Seen::Missing,
        },
        Err(error) if sys::is_gone(&error) => Seen::Missing,
        Err(error) => Seen::Seen(Some(Disbelief::Untold(Fault::new(format!("/proc/{pid}"), error)))),
    }
}

/// From the kernel's own words to those of a file system, which are only asked of a process of root.
fn judge(pid: u32, dir: &ProcDir, prober: &Prober) -> io::Result<Option<Disbelief>> {
    if matches!(parse::owner(&parse::cgroup_lines(&dir.read("cgroup", MAX_LINES_BYTES)?)), Owner::Pod { .. }) {
        return Ok(Some(Disbelief::InPod));
    }
    let ids = parse::ids(&dir.read("status", MAX_LINES_BYTES)?);
    if let Some(id) = ids.iter().find(|id| **id != 0) {
        return Ok(Some(Disbelief::NotRoot(*id)));
    }
    if ids.is_empty() {
        return Err(io::Error::other("its status names no user"));
    }
    if dir.namespace("user")? != ProcDir::open(std::process::id())?.namespace("user")? {
        return Ok(Some(Disbelief::OtherUserNamespace));
    }
    Ok(match prober.executable(pid, sys::FILE_TIMEOUT) {
        Seen::Seen(executable) => executable_disbelief(executable),
        Seen::Failed(fault) => Some(Disbelief::Untold(fault)),
        Seen::Missing | Seen::NotAsked => return Err(io::ErrorKind::NotFound.into()),
    })
}

fn executable_disbelief(executable: Executable) -> Option<Disbelief> {
    let Executable { owner, others_write, file_system } = executable;
    if file_system::magic_needs_server(file_system) {
        return Some(Disbelief::ExecutableServed);
    }
    if owner != 0 {
        return Some(Disbelief::ExecutableOf(owner));
    }
    others_write.then_some(Disbelief::ExecutableWritable)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Child, Command};

    use nix::sched::{CloneFlags, unshare};

    use super::*;

    /// A process called `kubelet` that sleeps, its program in a world-accessible directory.
    struct False {
        child: Child,
        _dir: tempfile::TempDir,
    }

    impl False {
        fn start(mode: u32, prepare: impl FnOnce(&mut Command, &Path)) -> Self {
            let dir = tempfile::tempdir_in("/dev/shm").unwrap();
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
            let program = dir.path().join("kubelet");
            std::fs::copy("/bin/sleep", &program).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
            let mut command = Command::new(&program);
            command.arg("1000");
            prepare(&mut command, &program);
            // A child that another test forks meanwhile holds the copy open for writing until it runs its program.
            let busy = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ExecutableFileBusy;
            let child = loop {
                match command.spawn() {
                    Err(error) if busy(&error) => std::thread::sleep(std::time::Duration::from_millis(10)),
                    spawned => break spawned.unwrap(),
                }
            };
            False { child, _dir: dir }
        }

        fn disbelief(&self) -> Option<Disbelief> {
            let pid = self.child.id();
            disbelief(pid, &ProcDir::open(pid).unwrap(), &Prober::default()).get().cloned().unwrap()
        }
    }

    impl Drop for False {
        fn drop(&mut self) {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }

    #[test]
    fn a_program_of_root_that_only_root_writes_is_believed() {
        assert_eq!(False::start(0o755, |_, _| ()).disbelief(), None);
    }

    #[test]
    fn a_name_alone_is_not_believed() {
        let user = False::start(0o755, |command, _| {
            command.uid(65534).gid(65534);
        });
        assert_eq!(user.disbelief(), Some(Disbelief::NotRoot(65534)));
        let group = False::start(0o755, |command, _| {
            command.gid(65534);
        });
        assert_eq!(group.disbelief(), Some(Disbelief::NotRoot(65534)), "all of its ids");
    }

    #[test]
    fn the_root_of_another_user_namespace_is_not_believed() {
        let root = False::start(0o755, |command, _| {
            // SAFETY: one call to the kernel, which changes nothing but the child's namespace.
            #[allow(unsafe_code)]
            unsafe {
                command.pre_exec(|| {
                    unshare(CloneFlags::CLONE_NEWUSER)?;
                    // What is root inside is root here as well.
                    std::fs::write("/proc/self/uid_map", "0 0 1")?;
                    std::fs::write("/proc/self/setgroups", "deny")?;
                    std::fs::write("/proc/self/gid_map", "0 0 1")
                });
            }
        });
        assert_eq!(root.disbelief(), Some(Disbelief::OtherUserNamespace));
    }

    #[test]
    fn a_program_that_others_may_change_is_not_believed() {
        for mode in [0o757, 0o775] {
            assert_eq!(False::start(mode, |_, _| ()).disbelief(), Some(Disbelief::ExecutableWritable), "{mode:o}");
        }
        let owned = False::start(0o755, |_, program| std::os::unix::fs::chown(program, Some(65534), None).unwrap());
        assert_eq!(owned.disbelief(), Some(Disbelief::ExecutableOf(65534)));
    }

    #[test]
    fn a_program_that_a_server_may_change_is_not_believed() {
        let local = Executable { owner: 0, others_write: false, file_system: 0xef53 };
        assert_eq!(executable_disbelief(local), None);
        for file_system in [0x6573_5546, 0x6969] {
            assert_eq!(executable_disbelief(Executable { file_system, ..local }), Some(Disbelief::ExecutableServed));
        }
    }

    #[test]
    fn one_that_has_gone_is_nobody() {
        let mut child = Command::new("true").spawn().unwrap();
        let dir = ProcDir::open(child.id()).unwrap();
        child.wait().unwrap();
        assert_eq!(disbelief(child.id(), &dir, &Prober::default()), Seen::Missing);
    }
}

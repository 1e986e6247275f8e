//! Processes that hold a volume in ways that are easily overlooked.

use std::fs::File;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use nix::sched::{CloneFlags, unshare};

/// Holds a volume until it is killed.
#[derive(Debug, clap::Args)]
pub struct Hold {
    /// How.
    #[arg(value_enum)]
    how: How,
    /// The volume.
    volume: PathBuf,
}

/// A way to hold a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum How {
    /// A second thread has a working directory of its own.
    ThreadCwd,
    /// The first thread has ended, the second has a file open.
    ZombieLeader,
    /// A socket is bound in it, in a network namespace of its own.
    Socket,
}

impl Hold {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        match self.how {
            How::ThreadCwd => thread_cwd(&self.volume),
            How::ZombieLeader => zombie_leader(&self.volume),
            How::Socket => {
                unshare(CloneFlags::CLONE_NEWNET).context("enter a network namespace")?;
                let path = self.volume.join("sock");
                let _listener = UnixListener::bind(&path).with_context(|| format!("bind {}", path.display()))?;
                wait_forever()
            }
        }
    }
}

fn thread_cwd(volume: &Path) -> anyhow::Result<()> {
    let volume = volume.to_owned();
    let thread = std::thread::spawn(move || -> anyhow::Result<()> {
        unshare(CloneFlags::CLONE_FS).context("have a working directory of its own")?;
        nix::unistd::chdir(&volume).with_context(|| format!("go to {}", volume.display()))?;
        wait_forever()
    });
    thread.join().unwrap_or_else(|_| anyhow::bail!("the thread panicked"))
}

fn zombie_leader(volume: &Path) -> anyhow::Result<()> {
    let file = File::open(volume.join("data")).with_context(|| format!("open a file in {}", volume.display()))?;
    std::thread::spawn(move || {
        let _file = file;
        wait_forever();
    });
    // SAFETY: ends this thread only and runs nothing of it any more; what it owns stays behind,
    // and the other thread shares nothing with it.
    #[expect(unsafe_code, reason = "no safe call ends the first thread alone")]
    unsafe {
        libc::syscall(libc::SYS_exit, 0);
    }
    anyhow::bail!("the thread did not end")
}

fn wait_forever() -> ! {
    loop {
        std::thread::park();
    }
}

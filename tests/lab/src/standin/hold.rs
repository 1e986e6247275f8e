//! A process of the host that holds something of a pod.

use std::{
    fs::{self, File},
    io::{IoSlice, Seek as _, Write as _},
    os::{fd::AsRawFd as _, unix::net::UnixStream},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::Context as _;
use nix::{
    mount::MsFlags,
    sys::socket::{ControlMessage, MsgFlags, sendmsg},
};

use crate::mounts;

/// Holds what its arguments name, until it is killed.
#[derive(Debug, clap::Args)]
pub struct Hold {
    /// First enter a mount namespace of its own, with this propagation.
    #[arg(long, value_enum)]
    namespace: Option<Propagation>,
    /// Make this the working directory.
    #[arg(long)]
    cwd: Option<PathBuf>,
    /// Keep this file open.
    #[arg(long)]
    open: Option<PathBuf>,
    /// Map this file and close it.
    #[arg(long)]
    map: Option<PathBuf>,
    /// Send this file over a socket, receive nothing, and close it.
    #[arg(long)]
    send: Option<PathBuf>,
    /// Read this file.
    #[arg(long)]
    read: Option<PathBuf>,
    /// Write to a file without a name in this directory, and have it stored, again and again.
    #[arg(long)]
    journal: Option<PathBuf>,
}

/// How a mount namespace learns of mounts of the one it was copied from.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Propagation {
    /// Mounts and unmounts of the host arrive.
    Slave,
    /// Nothing arrives.
    Private,
}

impl Hold {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        if let Some(propagation) = self.namespace {
            mounts::enter_namespace(match propagation {
                Propagation::Slave => MsFlags::MS_SLAVE,
                Propagation::Private => MsFlags::MS_PRIVATE,
            })?;
        }
        if let Some(dir) = &self.cwd {
            nix::unistd::chdir(dir).with_context(|| format!("go to {}", dir.display()))?;
        }
        let _open = match &self.open {
            Some(path) => Some(File::open(path).with_context(|| format!("open {}", path.display()))?),
            None => None,
        };
        if let Some(path) = &self.map {
            map(path)?;
        }
        let _sockets = match &self.send {
            Some(path) => Some(send(path)?),
            None => None,
        };
        if let Some(path) = &self.read {
            fs::read(path).with_context(|| format!("read {}", path.display()))?;
        }
        if let Some(dir) = &self.journal {
            journal(dir)?;
        }
        super::wait_forever()
    }
}

fn journal(dir: &Path) -> anyhow::Result<()> {
    let path = dir.join(format!("journal-of-{}", std::process::id()));
    let mut file = File::create_new(&path).with_context(|| format!("make {}", path.display()))?;
    fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
    loop {
        file.write_all(&[0; 4096]).and_then(|()| file.sync_all()).context("write the journal")?;
        file.rewind()?;
        thread::sleep(Duration::from_millis(20));
    }
}

/// A file that is open nowhere but in the queue of the second socket.
fn send(path: &Path) -> anyhow::Result<(UnixStream, UnixStream)> {
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    let (here, there) = UnixStream::pair().context("make two sockets")?;
    let sent = [file.as_raw_fd()];
    let message = [ControlMessage::ScmRights(&sent)];
    sendmsg::<()>(here.as_raw_fd(), &[IoSlice::new(b"x")], &message, MsgFlags::empty(), None)
        .context("send a descriptor")?;
    Ok((here, there))
}

/// The mapping stays when the file descriptor is closed at the end.
#[expect(unsafe_code, reason = "mmap has no safe form; nothing ever reads or writes through this mapping")]
fn map(path: &PathBuf) -> anyhow::Result<()> {
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    // SAFETY: a new mapping at an address of the kernel's choice overlaps with nothing, the file
    // descriptor is open, and the address is thrown away.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    anyhow::ensure!(address != libc::MAP_FAILED, "map {}: {}", path.display(), std::io::Error::last_os_error());
    Ok(())
}

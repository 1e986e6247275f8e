//! A process of the host that holds something of a pod.

use std::fs::{self, File};
use std::io::{IoSlice, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use nix::mount::MsFlags;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use crate::mounts;

/// Holds what its arguments name, until it is killed.
#[derive(Debug, clap::Args)]
pub struct Hold {
    /// First enter a mount namespace of its own, with this propagation.
    #[arg(long, value_enum)]
    namespace: Option<Propagation>,
    /// Leave that namespace when all is held, and keep it by a bind mount on this file.
    #[arg(long, requires = "namespace")]
    keep_at: Option<PathBuf>,
    /// First enter a network namespace of its own.
    #[arg(long)]
    own_network: bool,
    /// Leave that again when all is held.
    #[arg(long, requires = "own_network")]
    leave_network: bool,
    /// Make this the working directory.
    #[arg(long)]
    cwd: Option<PathBuf>,
    /// Keep this file open.
    #[arg(long)]
    open: Option<PathBuf>,
    /// With so many further descriptors.
    #[arg(long, requires = "open", default_value_t = 0)]
    copies: usize,
    /// Map this file and close it.
    #[arg(long)]
    map: Option<PathBuf>,
    /// Send this file over a socket, receive nothing, and close it.
    #[arg(long)]
    send: Option<PathBuf>,
    /// Listen on a unix socket that is bound to this path.
    #[arg(long)]
    bind: Option<PathBuf>,
    /// Bind it while this is the working directory, and leave that again.
    #[arg(long)]
    bind_in: Option<PathBuf>,
    /// Register this file with an io_uring and close it.
    #[arg(long)]
    register: Option<PathBuf>,
    /// Be the daemon of an autofs on this directory, and mount nothing there.
    #[arg(long)]
    autofs: Option<PathBuf>,
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
        let home = File::open(OWN_NAMESPACE).context("open the own mount namespace")?;
        let network = File::open("/proc/self/ns/net").context("open the own network namespace")?;
        if let Some(propagation) = self.namespace {
            mounts::enter_namespace(match propagation {
                Propagation::Slave => MsFlags::MS_SLAVE,
                Propagation::Private => MsFlags::MS_PRIVATE,
            })?;
        }
        if self.own_network {
            unshare(CloneFlags::CLONE_NEWNET).context("enter a network namespace")?;
        }
        if let Some(dir) = &self.cwd {
            nix::unistd::chdir(dir).with_context(|| format!("go to {}", dir.display()))?;
        }
        let open = match &self.open {
            Some(path) => Some(File::open(path).with_context(|| format!("open {}", path.display()))?),
            None => None,
        };
        let copies = open.iter().cycle().take(self.copies).map(File::try_clone);
        let _copies: Vec<File> = copies.collect::<Result<_, _>>().context("copy a descriptor")?;
        if let Some(path) = &self.map {
            map(path)?;
        }
        let _sockets = match &self.send {
            Some(path) => Some(send(path)?),
            None => None,
        };
        let _listener = match &self.bind {
            Some(path) => Some(listen(path, self.bind_in.as_deref())?),
            None => None,
        };
        let _ring = match &self.register {
            Some(path) => Some(register(path)?),
            None => None,
        };
        let _requests = match &self.autofs {
            Some(dir) => Some(autofs(dir)?),
            None => None,
        };
        if let Some(path) = &self.keep_at {
            leave_namespace(&home, path)?;
        }
        if self.leave_network {
            setns(&network, CloneFlags::CLONE_NEWNET).context("go back to the first network namespace")?;
        }
        drop((home, network));
        if let Some(path) = &self.read {
            fs::read(path).with_context(|| format!("read {}", path.display()))?;
        }
        if let Some(dir) = &self.journal {
            journal(dir)?;
        }
        super::wait_forever()
    }
}

const OWN_NAMESPACE: &str = "/proc/self/ns/mnt";

/// Goes `home`, and leaves the namespace behind without a process.
fn leave_namespace(home: &File, keep_at: &Path) -> anyhow::Result<()> {
    let left = File::open(OWN_NAMESPACE).context("open the new mount namespace")?;
    setns(home, CloneFlags::CLONE_NEWNS).context("go back to the first mount namespace")?;
    mounts::bind(Path::new(&format!("/proc/self/fd/{}", left.as_raw_fd())), keep_at)
}

/// Requests of the kernel are written to the pipe, which is never read.
fn autofs(dir: &Path) -> anyhow::Result<(OwnedFd, OwnedFd)> {
    let (requests, kernels) = nix::unistd::pipe().context("make a pipe")?;
    let group = nix::unistd::getpgrp();
    let options = format!("fd={},pgrp={group},minproto=5,maxproto=5,direct", kernels.as_raw_fd());
    nix::mount::mount(Some("lab"), dir, Some("autofs"), MsFlags::empty(), Some(options.as_str()))
        .with_context(|| format!("mount an autofs at {}", dir.display()))?;
    Ok((requests, kernels))
}

fn listen(path: &Path, bind_in: Option<&Path>) -> anyhow::Result<UnixListener> {
    if let Some(dir) = bind_in {
        nix::unistd::chdir(dir).with_context(|| format!("go to {}", dir.display()))?;
    }
    let listener = UnixListener::bind(path).with_context(|| format!("bind {}", path.display()))?;
    nix::unistd::chdir("/").context("leave the directory")?;
    Ok(listener)
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

/// The ring, which holds the file when its descriptor is closed at the end.
#[expect(unsafe_code, reason = "io_uring has no safe form here; nothing is ever submitted to the ring")]
fn register(path: &Path) -> anyhow::Result<OwnedFd> {
    /// `IORING_REGISTER_FILES`
    const REGISTER_FILES: libc::c_uint = 2;
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    // `struct io_uring_params`, all zero.
    let mut params = [0_u64; 15];
    // SAFETY: the kernel writes no more than the 120 bytes of its structure.
    let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    anyhow::ensure!(made >= 0, "make an io_uring: {}", std::io::Error::last_os_error());
    // SAFETY: the kernel has just made this descriptor for us.
    let ring = unsafe { OwnedFd::from_raw_fd(RawFd::try_from(made)?) };
    let files = [file.as_raw_fd()];
    // SAFETY: the kernel reads one descriptor.
    let done = unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), REGISTER_FILES, files.as_ptr(), files.len())
    };
    anyhow::ensure!(done == 0, "register {}: {}", path.display(), std::io::Error::last_os_error());
    Ok(ring)
}

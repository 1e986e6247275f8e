//! The driver as a process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{fs, io};

use anyhow::Context as _;
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::Status;
use tonic::transport::{Server, server::Router};

use super::serve::{Answers, NodeService, Registration};
use super::{Empty, NodePublishVolumeRequest, NodeUnpublishVolumeRequest, PluginInfo};
use crate::mounts;

/// The node part of a CSI driver.
#[derive(Debug, clap::Args)]
pub struct CsiDriver {
    /// The driver's name.
    #[arg(long)]
    name: String,
    /// Its own socket.
    #[arg(long)]
    socket: PathBuf,
    /// The socket by which the kubelet finds it.
    #[arg(long)]
    registration: PathBuf,
    /// What it does when it is asked to unpublish a volume.
    #[arg(long, value_enum)]
    manner: Manner,
}

/// How a driver unpublishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Manner {
    /// It unmounts, and looks at the target first, as most drivers do.
    Proper,
    /// It unmounts whatever is there.
    Blunt,
    /// It has `umount` unmount.
    Program,
    /// It unmounts once, and does not look what is left.
    Once,
    /// It says that it has, and has not.
    Leaves,
    /// It answers with an error.
    Fails,
}

impl CsiDriver {
    /// Serves until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let (own, registration) = (self.socket.clone(), self.registration.clone());
        let answers: Arc<dyn Answers> = Arc::new(self);
        let node = NodeService(Arc::clone(&answers));
        // A thread of its own: an unmount that waits keeps no other answer back.
        std::thread::spawn(move || serve(&own, Server::builder().add_service(node)));
        serve(&registration, Server::builder().add_service(Registration(answers)))
    }
}

fn serve(socket: &Path, services: Router) -> anyhow::Result<()> {
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(async { services.serve_with_incoming(listen(socket)?).await.context("serve") })
}

impl Answers for CsiDriver {
    fn info(&self) -> PluginInfo {
        PluginInfo {
            r#type: "CSIPlugin".to_owned(),
            name: self.name.clone(),
            endpoint: self.socket.display().to_string(),
            supported_versions: vec!["1.0.0".to_owned()],
        }
    }

    fn publish(&self, request: &NodePublishVolumeRequest) -> Result<Empty, Status> {
        publish(Path::new(&request.target_path)).map_err(|error| Status::internal(format!("{error:#}")))?;
        Ok(Empty {})
    }

    fn unpublish(&self, request: &NodeUnpublishVolumeRequest) -> Result<Empty, Status> {
        let target = Path::new(&request.target_path);
        let outcome = match self.manner {
            Manner::Proper => look(target).and_then(|()| unpublish(target)),
            Manner::Blunt => unpublish(target),
            Manner::Program => run_umount(target).and_then(|()| unpublish(target)),
            Manner::Once => {
                let _ = mounts::unmount(target);
                Ok(())
            }
            Manner::Leaves => Ok(()),
            Manner::Fails => Err(anyhow::anyhow!("the storage does not answer")),
        };
        outcome.map_err(|error| Status::internal(format!("{error:#}")))?;
        Ok(Empty {})
    }
}

/// The look at the target is what makes drivers fail on a FUSE mount whose server is dead.
fn look(target: &Path) -> anyhow::Result<()> {
    match fs::metadata(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("stat {}", target.display()))
        }
        _ => Ok(()),
    }
}

fn publish(target: &Path) -> anyhow::Result<()> {
    if mounts::is_mounted(target)? { Ok(()) } else { mounts::tmpfs(target) }
}

fn run_umount(target: &Path) -> anyhow::Result<()> {
    if mounts::is_mounted(target)? {
        let status = Command::new("umount").arg(target).status().context("run umount")?;
        anyhow::ensure!(status.success(), "umount: {}: {status}", target.display());
    }
    Ok(())
}

fn unpublish(target: &Path) -> anyhow::Result<()> {
    if mounts::is_mounted(target)? {
        mounts::unmount(target).with_context(|| format!("umount: {}", target.display()))?;
    }
    let removed = match fs::remove_dir(target) {
        // A raw block volume is bound to a file.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => fs::remove_file(target),
        removed => removed,
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {}", target.display()))
        }
        _ => Ok(()),
    }
}

fn listen(socket: &Path) -> anyhow::Result<UnixListenerStream> {
    if let Some(dir) = socket.parent() {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    match fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("remove the old {}", socket.display()));
        }
        _ => {}
    }
    let listener = UnixListener::bind(socket).with_context(|| format!("listen on {}", socket.display()))?;
    Ok(UnixListenerStream::new(listener))
}

//! The broker's own life.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;

use cri::*;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, fork};
use prost::Message as _;
use tokio::{net::UnixStream, sync::Mutex};

use super::Directories;
use super::message::{Answer, Bytes, MAX_ANSWER_BYTES, MAX_QUESTION_BYTES, Question, Request, Response};
use crate::host::csi::registration;
use crate::host::healthz;
use crate::host::sockets::unreachable;
use crate::observation::HostPath;
use crate::{frame, sys};

/// No call may take longer, whatever is asked.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Forks the broker, which first of all opens its directories and confines itself by `confine`; the end at which it is
/// asked. Only while this process has one thread and has had no runtime, whose descriptors the broker would close.
pub fn start(
    directories: impl FnOnce() -> Directories,
    confine: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<StdStream> {
    let (ours, theirs) = StdStream::pair()?;
    // SAFETY: there is no other thread that could hold a lock.
    #[allow(unsafe_code)]
    if let ForkResult::Parent { .. } = unsafe { fork() }? {
        return Ok(ours);
    }
    drop(ours);
    let ended = live(theirs, directories, confine);
    if let Err(error) = &ended {
        eprintln!("why-terminating-agent: the broker: {error:#}");
    }
    std::process::exit(i32::from(ended.is_err()))
}

fn live(
    stream: StdStream,
    directories: impl FnOnce() -> Directories,
    confine: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    let kept = stream.as_raw_fd();
    sys::close_range(3, kept - 1);
    sys::close_range(kept + 1, i32::MAX);
    let directories = directories();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    confine()?;
    stream.set_nonblocking(true)?;
    runtime.block_on(async { serve(UnixStream::from_std(stream)?, directories).await })?;
    Ok(())
}

/// Answers until the reader ends, or the kubelet has other directories.
async fn serve(stream: UnixStream, directories: Directories) -> io::Result<()> {
    let directories = Arc::new(directories);
    let (mut reader, writer) = stream.into_split();
    let writer = Arc::new(Mutex::new(writer));
    while let Ok(Request { id, question }) = frame::receive(&mut reader, MAX_QUESTION_BYTES).await {
        if let Question::Places { runtime, kubelet } = &question
            && !directories.are(runtime.as_ref(), kubelet)
        {
            return Err(io::Error::other("the kubelet uses other directories than those that were opened"));
        }
        let (writer, directories) = (writer.clone(), directories.clone());
        tokio::spawn(async move {
            let response = Response { id, answer: answer(question, &directories).await };
            // Without a reader the broker ends.
            let _ = frame::send(&mut *writer.lock().await, &response, MAX_ANSWER_BYTES).await;
        });
    }
    Ok(())
}

async fn answer(question: Question, directories: &Directories) -> Answer {
    match question {
        Question::Call { socket, method, question: Bytes(question), deadline } => {
            let deadline = deadline.min(MAX_CALL_TIMEOUT);
            Answer::Call(call(directories, &socket, &method, &question, deadline).await.map(Bytes))
        }
        Question::Listener(socket) => {
            let listener = directories.socket(&socket).and_then(|at| sys::listener(at.path()));
            Answer::Listener(listener.map_err(Into::into))
        }
        Question::Healthz(port) => Answer::Healthz(healthz::answer(port).await),
        Question::Places { .. } => Answer::Places,
    }
}

/// Makes one of the calls that there are.
async fn call(
    directories: &Directories,
    socket: &HostPath,
    method: &str,
    question: &[u8],
    deadline: Duration,
) -> Result<Vec<u8>, RpcError> {
    // The caller names the socket.
    let unreached = |error: io::Error| unreachable(sys::place(&error).map_or(&error, |(_, error)| error));
    let at = directories.socket(socket).map_err(unreached)?;
    let connection = &Connection::new(at.path(), deadline)?;
    // Only what is declared passes, in both directions.
    macro_rules! pass {
        ($($method:path: $question:ty => $answer:ty,)*) => {
            match method {
                $($method => {
                    let question = <$question>::decode(question).map_err(|error| RpcError::Failed(error.to_string()))?;
                    connection.call::<_, $answer>($method, question).await.map(|answer| answer.encode_to_vec())
                })*
                other => Err(RpcError::Failed(format!("{} is not called for anybody", findings::clean(other, 100)))),
            }
        };
    }
    pass! {
        method::VERSION: VersionRequest => VersionResponse,
        method::STATUS: StatusRequest => StatusResponse,
        method::RUNTIME_CONFIG: RuntimeConfigRequest => RuntimeConfigResponse,
        method::LIST_POD_SANDBOX: ListPodSandboxRequest => ListPodSandboxResponse,
        method::LIST_CONTAINERS: ListContainersRequest => ListContainersResponse,
        method::CONTAINER_STATUS: ContainerStatusRequest => ContainerStatusResponse,
        method::POD_SANDBOX_STATUS: PodSandboxStatusRequest => PodSandboxStatusResponse,
        registration::GET_INFO: registration::InfoRequest => registration::PluginInfo,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::host::Sockets;
    use crate::host::runtime::Runtime;
    use crate::observation::FaultKind;

    /// As if the kubelet had all its files in `dir`.
    fn directories(dir: &Path) -> Directories {
        Directories::open(Path::new("/"), None, &HostPath::from(dir.to_owned()), |_| true)
    }

    /// The reader's end of a broker that lives in the same process.
    fn broker(dir: &Path) -> super::super::Broker {
        let (ours, theirs) = StdStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        tokio::spawn(serve(UnixStream::from_std(theirs).unwrap(), directories(dir)));
        super::super::Broker::new(ours).unwrap()
    }

    #[tokio::test]
    async fn faults_are_those_of_a_connection_of_ones_own() {
        let dir = tempfile::tempdir().unwrap();
        let silent = dir.path().join("silent.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
        let nobody = dir.path().join("nobody.sock");
        let sockets = Sockets::Broker(broker(dir.path()));
        for (socket, kind) in [(&silent, FaultKind::TimedOut), (&nobody, FaultKind::Refused)] {
            let named = HostPath::from(socket.clone());
            let facts = async |sockets: &Sockets| Runtime::new(sockets, socket, &named).unwrap().facts(None).await;
            let (own, carried) = (facts(&Sockets::Own).await, facts(&sockets).await);
            assert_eq!(own.fault().map(|fault| fault.kind), Some(kind));
            assert_eq!(own, carried);
        }
        let listener = async |socket: &Path| sockets.listener(socket, &HostPath::from(socket.to_owned())).await;
        assert_eq!(listener(&silent).await.unwrap(), Some(std::process::id()));
        assert_eq!(listener(&nobody).await.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        assert_eq!(sockets.healthz(port).await, crate::observation::Seen::Missing);
    }

    #[tokio::test]
    async fn no_other_call_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        for method in ["/runtime.v1.RuntimeService/StopContainer", "/csi.v1.Node/NodeUnpublishVolume", ""] {
            let (opened, socket) = (directories(dir.path()), HostPath::from(socket.clone()));
            let refused = call(&opened, &socket, method, b"", Duration::from_secs(1)).await.unwrap_err();
            assert!(refused.to_string().ends_with("is not called for anybody"), "{refused}");
        }
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "nothing has connected");
    }

    #[tokio::test]
    async fn when_it_is_gone_everybody_is_told() {
        let (ours, theirs) = StdStream::pair().unwrap();
        let broker = super::super::Broker::new(ours).unwrap();
        let (answer, ()) = tokio::join!(broker.healthz(1), async { drop(theirs) });
        assert!(answer.fault().unwrap().says.contains("has ended"), "{answer:?}");
        broker.ended().await;
        assert!(broker.listener(&HostPath::from("/x")).await.is_err());
    }

    #[tokio::test]
    async fn elsewhere_it_does_not_connect() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let socket = other.path().join("s");
        let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let sockets = Sockets::Broker(broker(dir.path()));
        let named = HostPath::from(socket.clone());
        let seen = Runtime::new(&sockets, &socket, &named).unwrap().facts(None).await;
        assert!(seen.fault().unwrap().says.contains("no directory that the broker opened"), "{seen:?}");
        assert!(sockets.listener(&socket, &named).await.is_err());
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "no connection was made");
    }

    #[tokio::test]
    async fn it_ends_where_the_kubelet_has_other_directories() {
        let dir = tempfile::tempdir().unwrap();
        let (broker, root) = (broker(dir.path()), HostPath::from(dir.path().to_owned()));
        broker.verify(None, &root).await;
        assert_eq!(broker.healthz(1).await, crate::observation::Seen::Missing, "it goes on");
        broker.verify(None, &root.join("other")).await;
        tokio::time::timeout(Duration::from_secs(5), broker.ended()).await.unwrap();
    }
}

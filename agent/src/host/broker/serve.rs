//! The broker's own life.

use std::{
    io,
    os::{fd::AsRawFd, unix::net::UnixStream as StdStream},
    path::Path,
    sync::Arc,
    time::Duration,
};

use cri::*;
use nix::{
    sys::{prctl::set_pdeathsig, signal::Signal},
    unistd::{ForkResult, fork},
};
use tokio::{net::UnixStream, sync::Mutex};

use super::message::{Answer, Bytes, MAX_ANSWER_BYTES, MAX_QUESTION_BYTES, Question, Request, Response};
use crate::{
    frame,
    host::{Sockets, csi::registration, healthz},
    sys,
};

/// No call may take longer, whatever is asked.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Forks the broker, which first of all confines itself by `confine`; the end at which it is asked. Only while
/// this process has one thread and has had no runtime, whose descriptors the broker would close.
pub fn start(confine: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<StdStream> {
    let (ours, theirs) = StdStream::pair()?;
    // SAFETY: there is no other thread that could hold a lock.
    #[allow(unsafe_code)]
    if let ForkResult::Parent { .. } = unsafe { fork() }? {
        return Ok(ours);
    }
    drop(ours);
    let ended = live(theirs, confine);
    if let Err(error) = &ended {
        eprintln!("why-terminating-agent: the broker: {error:#}");
    }
    std::process::exit(i32::from(ended.is_err()))
}

fn live(stream: StdStream, confine: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    let kept = stream.as_raw_fd();
    sys::close_range(3, kept - 1);
    sys::close_range(kept + 1, i32::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    confine()?;
    stream.set_nonblocking(true)?;
    runtime.block_on(async { serve(UnixStream::from_std(stream)?).await })?;
    Ok(())
}

/// Answers until the reader ends.
async fn serve(stream: UnixStream) -> io::Result<()> {
    let (mut reader, writer) = stream.into_split();
    let writer = Arc::new(Mutex::new(writer));
    while let Ok(Request { id, question }) = frame::receive(&mut reader, MAX_QUESTION_BYTES).await {
        let writer = writer.clone();
        tokio::spawn(async move {
            let response = Response { id, answer: answer(question).await };
            // Without a reader the broker ends.
            let _ = frame::send(&mut *writer.lock().await, &response, MAX_ANSWER_BYTES).await;
        });
    }
    Ok(())
}

async fn answer(question: Question) -> Answer {
    match question {
        Question::Call { socket, method, question: Bytes(question), deadline, bound } => {
            let deadline = deadline.min(MAX_CALL_TIMEOUT);
            Answer::Call(call(socket.as_path(), &method, &question, deadline, bound).await.map(Bytes))
        }
        Question::Listener(socket) => Answer::Listener(sys::listener(socket.as_path()).map_err(Into::into)),
        Question::Healthz(port) => Answer::Healthz(healthz::answer(port).await),
    }
}

/// Makes one of the calls that there are.
async fn call(
    socket: &Path,
    method: &str,
    question: &[u8],
    deadline: Duration,
    bound: Option<u32>,
) -> Result<Vec<u8>, RpcError> {
    let connected = Sockets::Own.connect(socket, deadline, bound)?;
    let connection = &connected.connection;
    match method {
        method::VERSION => pass::<VersionRequest, VersionResponse>(connection, method::VERSION, question).await,
        method::STATUS => pass::<StatusRequest, StatusResponse>(connection, method::STATUS, question).await,
        method::RUNTIME_CONFIG => {
            pass::<RuntimeConfigRequest, RuntimeConfigResponse>(connection, method::RUNTIME_CONFIG, question).await
        }
        method::LIST_POD_SANDBOX => {
            pass::<ListPodSandboxRequest, ListPodSandboxResponse>(connection, method::LIST_POD_SANDBOX, question).await
        }
        method::LIST_CONTAINERS => {
            pass::<ListContainersRequest, ListContainersResponse>(connection, method::LIST_CONTAINERS, question).await
        }
        method::CONTAINER_STATUS => {
            pass::<ContainerStatusRequest, ContainerStatusResponse>(connection, method::CONTAINER_STATUS, question)
                .await
        }
        method::POD_SANDBOX_STATUS => {
            let method = method::POD_SANDBOX_STATUS;
            pass::<PodSandboxStatusRequest, PodSandboxStatusResponse>(connection, method, question).await
        }
        registration::GET_INFO => {
            pass::<registration::InfoRequest, registration::PluginInfo>(connection, registration::GET_INFO, question)
                .await
        }
        other => Err(RpcError::Failed(format!("{} is not called for anybody", findings::clean(other, 100)))),
    }
}

/// Only what is declared passes, in both directions.
async fn pass<Q, A>(connection: &Connection, method: &'static str, question: &[u8]) -> Result<Vec<u8>, RpcError>
where
    Q: prost::Message + Default + 'static,
    A: prost::Message + Default + 'static,
{
    let question = Q::decode(question).map_err(|error| RpcError::Failed(error.to_string()))?;
    connection.call::<Q, A>(method, question).await.map(|answer| answer.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host::runtime::Runtime, observation::FaultKind};

    /// The reader's end of a broker that lives in the same process.
    fn broker() -> super::super::Broker {
        let (ours, theirs) = StdStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        tokio::spawn(serve(UnixStream::from_std(theirs).unwrap()));
        super::super::Broker::new(ours).unwrap()
    }

    #[tokio::test]
    async fn faults_are_those_of_a_connection_of_ones_own() {
        let dir = tempfile::tempdir().unwrap();
        let silent = dir.path().join("silent.sock");
        let _listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
        let nobody = dir.path().join("nobody.sock");
        let sockets = Sockets::Broker(broker());
        for (socket, kind) in [(&silent, FaultKind::TimedOut), (&nobody, FaultKind::Refused)] {
            let facts = async |sockets: &Sockets| Runtime::new(sockets, socket).unwrap().facts(None).await;
            let (own, carried) = (facts(&Sockets::Own).await, facts(&sockets).await);
            assert_eq!(own.fault().map(|fault| fault.kind), Some(kind));
            assert_eq!(own, carried);
        }
        assert_eq!(sockets.listener(&silent).await.unwrap(), Some(std::process::id()));
        assert_eq!(sockets.listener(&nobody).await.unwrap_err().raw_os_error(), Some(libc::ENOENT));
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
            let refused = call(&socket, method, b"", Duration::from_secs(1), None).await.unwrap_err();
            assert!(refused.to_string().ends_with("is not called for anybody"), "{refused}");
        }
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "nobody has connected");
    }

    #[tokio::test]
    async fn when_it_is_gone_everybody_is_told() {
        let (ours, theirs) = StdStream::pair().unwrap();
        let broker = super::super::Broker::new(ours).unwrap();
        let (answer, ()) = tokio::join!(broker.healthz(1), async { drop(theirs) });
        assert!(answer.fault().unwrap().says.contains("has ended"), "{answer:?}");
        broker.ended().await;
        assert!(broker.listener(Path::new("/x")).await.is_err());
    }
}

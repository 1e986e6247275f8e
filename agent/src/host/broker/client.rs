//! The reader's end.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cri::{Call, CarriedAnswer, Carrier, RpcError};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex as AsyncMutex, oneshot, watch};

use super::message::{Answer, Bytes, MAX_ANSWER_BYTES, MAX_QUESTION_BYTES, Question, Request, Response};
use crate::frame;
use crate::observation::{FaultKind, Healthz, HostPath, Seen};

/// The broker, for as long as it lives.
#[derive(Clone, Debug)]
pub struct Broker {
    writer: Arc<AsyncMutex<OwnedWriteHalf>>,
    waiting: Arc<Mutex<Waiting>>,
    ended: watch::Receiver<bool>,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    answers: HashMap<u64, oneshot::Sender<Answer>>,
}

/// The broker has ended.
#[derive(Debug, thiserror::Error)]
#[error("the broker, who connects for the reader, has ended")]
struct Ended;

impl Broker {
    /// Talks to the broker at the other end of `stream`. Within the runtime that asks.
    pub fn new(stream: StdStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (reader, writer) = UnixStream::from_std(stream)?.into_split();
        let waiting = Arc::<Mutex<Waiting>>::default();
        let (alive, ended) = watch::channel(false);
        tokio::spawn(listen(reader, waiting.clone(), alive));
        Ok(Broker { writer: Arc::new(AsyncMutex::new(writer)), waiting, ended })
    }

    /// Waits for its end.
    pub async fn ended(&self) {
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    /// Ends the broker where these are not the places that it has opened.
    pub async fn verify(&self, runtime: Option<&HostPath>, kubelet: &HostPath) {
        let places = Question::Places { runtime: runtime.cloned(), kubelet: kubelet.clone() };
        // The user of `ended` notices the broker's end.
        let _ = self.ask(places).await;
    }

    /// As [`sys::listener`](crate::sys::listener), of a socket of the host.
    pub async fn listener(&self, socket: &HostPath) -> io::Result<Option<u32>> {
        match self.ask(Question::Listener(socket.clone())).await {
            Ok(Answer::Listener(answer)) => Ok(answer?),
            Ok(_) => Err(io::ErrorKind::InvalidData.into()),
            Err(ended) => Err(io::Error::other(ended)),
        }
    }

    /// What the kubelet says of its health on this port.
    pub async fn healthz(&self, port: u16) -> Seen<Healthz> {
        let failed = |why: String| Seen::failed("broker", (FaultKind::Failed, why));
        match self.ask(Question::Healthz(port)).await {
            Ok(Answer::Healthz(answer)) => answer,
            Ok(_) => failed("another question was answered".to_owned()),
            Err(ended) => failed(ended.to_string()),
        }
    }

    async fn ask(&self, question: Question) -> Result<Answer, Ended> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut waiting = lock(&self.waiting);
            waiting.last += 1;
            let id = waiting.last;
            waiting.answers.insert(id, sender);
            id
        };
        let sent = frame::send(&mut *self.writer.lock().await, &Request { id, question }, MAX_QUESTION_BYTES).await;
        if sent.is_err() {
            lock(&self.waiting).answers.remove(&id);
        }
        answer.await.map_err(|_| Ended)
    }
}

impl Carrier for Broker {
    fn carry(&self, call: Call) -> CarriedAnswer<'_> {
        let Call { socket, method, question, deadline } = call;
        let (socket, method) = (HostPath::from(socket), method.to_owned());
        let question = Question::Call { socket, method, question: Bytes(question), deadline };
        Box::pin(async move {
            match self.ask(question).await {
                Ok(Answer::Call(answer)) => answer.map(|Bytes(bytes)| bytes),
                Ok(_) => Err(RpcError::Failed("another question was answered".to_owned())),
                Err(ended) => Err(RpcError::Failed(ended.to_string())),
            }
        })
    }
}

/// Hands out answers until the broker ends; waiting callers then get an error.
async fn listen(mut reader: OwnedReadHalf, waiting: Arc<Mutex<Waiting>>, alive: watch::Sender<bool>) {
    while let Ok(Response { id, answer }) = frame::receive(&mut reader, MAX_ANSWER_BYTES).await {
        // The caller has given up when it came too late.
        let sender = lock(&waiting).answers.remove(&id);
        let _ = sender.map(|sender| sender.send(answer));
    }
    lock(&waiting).answers.clear();
    let _ = alive.send(true);
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

//! One gRPC connection over a unix socket, with deadlines.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};

use crate::method;

/// The kubelet's own limit for one CRI message (tonic's default of 4 MiB is too small for a node with many pods).
pub(crate) const MAX_MESSAGE_BYTES: u32 = 16 << 20;
/// What may be on its way before it is read.
const WINDOW_BYTES: u32 = 1 << 20;

/// Why a call to the runtime gave no answer.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
pub enum RpcError {
    /// The socket does not exist, or no process listens on it.
    #[error("cannot be reached: {why}")]
    Unreachable {
        /// The error number of the connect, when that is what failed.
        errno: Option<i32>,
        /// In words.
        why: String,
    },
    /// The runtime accepted the call and did not answer before the deadline.
    #[error("did not answer within {0:?}")]
    TimedOut(Duration),
    /// The runtime answers, but does not have this call (an older version).
    #[error("does not have this call")]
    Unimplemented,
    /// The object asked for does not exist (any more).
    #[error("does not know this object")]
    NotFound,
    /// The answer is longer than it may be.
    #[error("{0}")]
    TooLarge(String),
    /// Any other answer, in the runtime's own words.
    #[error("{0}")]
    Failed(String),
}

/// One call, for a [`Carrier`] to make.
#[derive(Clone, Debug)]
pub struct Call {
    /// Whom to call.
    pub socket: PathBuf,
    /// For example `/runtime.v1.RuntimeService/Version`.
    pub method: &'static str,
    /// The encoded question.
    pub question: Vec<u8>,
    /// How long the answer may take.
    pub deadline: Duration,
}

/// The encoded answer of a call that a [`Carrier`] makes.
pub type CarriedAnswer<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, RpcError>> + Send + 'a>>;

/// Makes the calls of a process that may not connect to anything itself.
pub trait Carrier: std::fmt::Debug + Send + Sync {
    fn carry(&self, call: Call) -> CarriedAnswer<'_>;
}

/// A lazily opened connection: the first call connects.
#[derive(Clone, Debug)]
pub struct Connection {
    way: Way,
    deadline: Duration,
    /// All answers under way together have no more bytes than the longest may have.
    room: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
enum Way {
    Own(Channel),
    Carried { carrier: Arc<dyn Carrier>, socket: PathBuf },
}

impl Connection {
    /// Prepares a connection to the unix socket at `socket`; every call gets `deadline`.
    pub fn new(socket: &Path, deadline: Duration) -> Result<Self, RpcError> {
        let uri = format!("unix://{}", socket.display());
        let endpoint = Endpoint::from_shared(uri).map_err(|error| unreachable(&error))?;
        let endpoint = endpoint.initial_connection_window_size(WINDOW_BYTES).initial_stream_window_size(WINDOW_BYTES);
        Ok(Self::by(Way::Own(endpoint.connect_timeout(deadline).connect_lazy()), deadline))
    }

    /// A connection whose calls `carrier` makes.
    pub fn carried(carrier: Arc<dyn Carrier>, socket: &Path, deadline: Duration) -> Self {
        Self::by(Way::Carried { carrier, socket: socket.to_owned() }, deadline)
    }

    fn by(way: Way, deadline: Duration) -> Self {
        let bytes = usize::try_from(MAX_MESSAGE_BYTES).unwrap_or(Semaphore::MAX_PERMITS);
        Self { way, deadline, room: Arc::new(Semaphore::new(bytes)) }
    }

    /// Calls one unary method, for example `/runtime.v1.RuntimeService/Version`.
    pub async fn call<Q, A>(&self, method: &'static str, question: Q) -> Result<A, RpcError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let max_bytes = method::max_answer_bytes(method);
        let answer = async {
            let _room = self.room.acquire_many(max_bytes).await;
            match &self.way {
                Way::Own(channel) => self.call_over(channel.clone(), method, question, max_bytes).await,
                Way::Carried { carrier, socket } => {
                    let question = question.encode_to_vec();
                    let call = Call { socket: socket.clone(), method, question, deadline: self.deadline };
                    let answer = carrier.carry(call).await?;
                    A::decode(answer.as_slice()).map_err(|error| RpcError::Failed(error.to_string()))
                }
            }
        };
        // Our own timer, not the endpoint's: it also covers a connect that never finishes.
        match tokio::time::timeout(self.deadline, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(RpcError::TimedOut(self.deadline)),
        }
    }

    async fn call_over<Q, A>(
        &self,
        channel: Channel,
        method: &'static str,
        question: Q,
        max_bytes: u32,
    ) -> Result<A, RpcError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let mut grpc = Grpc::new(channel).max_decoding_message_size(max_bytes);
        grpc.ready().await.map_err(|error| unreachable(&error))?;
        let path = http::uri::PathAndQuery::from_static(method);
        let codec = tonic_prost::ProstCodec::<Q, A>::default();
        grpc.unary(Request::new(question), path, codec).await.map(tonic::Response::into_inner).map_err(rpc_error)
    }
}

fn rpc_error(status: tonic::Status) -> RpcError {
    match status.code() {
        Code::Unavailable => unreachable(&status),
        Code::Unimplemented => RpcError::Unimplemented,
        Code::NotFound => RpcError::NotFound,
        Code::OutOfRange => RpcError::TooLarge(status.message().to_owned()),
        _ => RpcError::Failed(status.message().to_owned()),
    }
}

/// tonic wraps "connection refused" three times; only the innermost says what happened.
fn unreachable(error: &(dyn std::error::Error + 'static)) -> RpcError {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    let errno = last.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    RpcError::Unreachable { errno, why: last.to_string() }
}

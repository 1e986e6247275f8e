//! What the reader says to its broker, and the broker to it.

use std::{io, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use cri::RpcError;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::observation::{Healthz, HostPath, Seen};

/// The longest question, in bytes.
pub(super) const MAX_QUESTION_BYTES: usize = 64 << 10;
/// The longest answer: what is kept of a list of the runtime (4 MiB), encoded.
pub(super) const MAX_ANSWER_BYTES: usize = 8 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// Which one: several may be under way.
    pub id: u64,
    pub question: Question,
}

/// All that can be asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Question {
    /// A reading call.
    Call {
        socket: HostPath,
        method: String,
        question: Bytes,
        deadline: Duration,
    },
    Listener(HostPath),
    /// The kubelet's health, on this port.
    Healthz(u16),
    /// Where the runtime listens, and the kubelet's directory: where these are others than at the start, the broker ends.
    Places {
        runtime: Option<HostPath>,
        kubelet: HostPath,
    },
}

/// The answer to one question.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Response {
    pub id: u64,
    pub answer: Answer,
}

/// What came of a question.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// To a call: the encoded message.
    Call(Result<Bytes, RpcError>),
    /// The pid, 0 where the kernel does not report it, none without a listener.
    Listener(Result<Option<u32>, IoError>),
    Healthz(Seen<Healthz>),
    /// The places are those.
    Places,
}

/// An error of the system, on its way.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct IoError {
    errno: Option<i32>,
    says: String,
}

impl From<io::Error> for IoError {
    fn from(error: io::Error) -> Self {
        IoError { errno: findings::errno(&error), says: error.to_string() }
    }
}

impl From<IoError> for io::Error {
    fn from(IoError { errno, says }: IoError) -> Self {
        errno.map_or_else(|| io::Error::other(says), io::Error::from_raw_os_error)
    }
}

/// Bytes, as text on the way.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD.decode(text.as_bytes()).map(Bytes).map_err(D::Error::custom)
    }
}

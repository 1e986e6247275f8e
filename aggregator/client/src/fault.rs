//! Why there is no answer.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use findings::FaultKind;
use http::StatusCode;

/// Why a request has no answer, or was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The HTTP status, if the server answered.
    pub status: Option<u16>,
    /// What the server or the library below says of it.
    pub says: String,
}

impl Fault {
    /// One that the server did not answer with.
    pub(crate) fn new(kind: FaultKind, says: impl ToString) -> Self {
        Fault { kind, status: None, says: says.to_string() }
    }

    /// An error that the server answered with.
    pub(crate) fn answered(status: StatusCode, body: &[u8]) -> Self {
        Fault { kind: FaultKind::from_status(status.as_u16()), status: Some(status.as_u16()), says: said(body) }
    }

    pub(crate) fn timed_out(timeout: Duration) -> Self {
        Fault::new(FaultKind::TimedOut, format!("did not answer within {timeout:?}"))
    }

    pub(crate) fn too_large(what: &str, max_bytes: usize) -> Self {
        Fault::new(FaultKind::TooLarge, format!("{what} has more than {max_bytes} bytes"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) if self.says.is_empty() => write!(f, "HTTP {status}"),
            _ => f.write_str(&self.says),
        }
    }
}

impl Error for Fault {}

impl From<kube::Error> for Fault {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                Fault { kind: FaultKind::from_status(status.code), status: Some(status.code), says: status.message }
            }
            error => Fault::new(kind(&error), reason(&error)),
        }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Fault::new(FaultKind::Malformed, error)
    }
}

impl From<http::Error> for Fault {
    fn from(error: http::Error) -> Self {
        Fault::new(FaultKind::NotAsked, error)
    }
}

/// The server's own words: the message of a `Status`, or plain text.
fn said(body: &[u8]) -> String {
    match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => value.get("message").and_then(|message| message.as_str()).unwrap_or_default().to_owned(),
        Err(_) => String::from_utf8_lossy(body).trim().chars().take(300).collect(),
    }
}

/// How the way to the server failed.
pub(crate) fn kind(error: &(dyn Error + 'static)) -> FaultKind {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.filter_map(|error| error.downcast_ref()).last().map(FaultKind::from_io).unwrap_or_default()
}

/// The words of the system or of TLS where it is one of theirs: the layers above name only themselves.
fn reason(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    let io = causes.filter_map(|error| error.downcast_ref::<std::io::Error>()).last();
    io.map_or_else(|| words(error), ToString::to_string)
}

/// An error with its causes, each said once: many of them repeat what is below.
pub fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words.push_str(&format!(": {inner_words}"));
        }
        source = inner.source();
    }
    words
}

//! A failure in words.

use std::fmt;

use findings::FaultKind;

use crate::state::Fault;

impl Fault {
    /// In a few words where they are enough: which right is missing is no matter of a note.
    pub fn brief(&self) -> String {
        match self.kind {
            FaultKind::Denied => words(self.kind).to_owned(),
            _ => self.to_string(),
        }
    }
}

/// Nothing where the message alone is enough.
fn words(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Denied => "not visible to us",
        FaultKind::Gone => "the server does not serve it",
        FaultKind::Malformed => "the answer cannot be read",
        FaultKind::NotAsked => "not queried",
        FaultKind::TimedOut => "no answer in time",
        FaultKind::TooLarge => "there is more than is kept",
        FaultKind::Failed | FaultKind::Hung | FaultKind::Refused | FaultKind::Stale => "",
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map(|status| status.to_string()).unwrap_or_default();
        let message = self.message.to_string();
        let said: Vec<&str> = [status.as_str(), &message].into_iter().filter(|part| !part.is_empty()).collect();
        let said = said.join(" ");
        let all: Vec<&str> = [words(self.kind), &said].into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&all.join(": "))
    }
}

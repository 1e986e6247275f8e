//! Words that several rules need.

use findings::duration;
pub use findings::some;
use jiff::Timestamp;

use crate::lister::Lister;
use crate::state::{Condition, Meta, Scope};

/// Where something stands, and what it says there.
pub type Quote = (String, String);

/// `2d4h`, from `then` until the cluster was looked at.
pub fn age(lister: &Lister, then: Timestamp) -> String {
    duration(u64::try_from(lister.seconds_since(then)).unwrap_or(0))
}

/// ` for 2d4h`, or nothing when the time is not known.
pub fn lasting(lister: &Lister, then: Option<Timestamp>) -> String {
    then.map_or(String::new(), |then| format!(" for {}", age(lister, then)))
}

/// `Terminating for 2d4h`.
pub fn terminating(lister: &Lister, meta: &Meta) -> String {
    match lister.is_before() {
        true => "once deleted".to_owned(),
        false => format!("Terminating{}", lasting(lister, meta.deletion_timestamp)),
    }
}

/// Seconds since an object should have been gone.
pub fn overdue(lister: &Lister, meta: &Meta) -> Option<i64> {
    meta.deletion_timestamp.map(|deadline| lister.seconds_since(deadline))
}

/// A condition as evidence: `Available=False MissingEndpoints: …`.
pub fn condition_text(condition: &Condition) -> String {
    let Condition { kind, status, reason, message, .. } = condition;
    let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    format!("{kind}={status}{reason}{message}")
}

/// `1 pod`, `2 pods`.
pub fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

pub fn within(namespace: &str) -> Scope {
    Scope::Namespace(namespace.to_owned())
}

/// `Terminating for 2h, held by finalizer example.com/hold`.
pub fn held_by(lister: &Lister, meta: &Meta) -> String {
    let terminating = terminating(lister, meta);
    match &*meta.finalizers {
        [] => format!("{terminating}, no finalizer left"),
        _ => format!("{terminating}, held by {}", meta.finalizers.in_words()),
    }
}

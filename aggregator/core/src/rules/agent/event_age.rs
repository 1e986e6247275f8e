//! How long an agent's Event is believed. Its times are the word of its writer.

use jiff::Timestamp;

use crate::lister::Lister;

/// Clocks differ by this much: the API server takes tokens that are so much too young.
const MAX_SKEW_SECONDS: i64 = 60;
/// An agent says again every half an hour what holds.
pub const MAX_RENEWAL_SECONDS: i64 = 40 * 60;
/// Events live for an hour. An older one is there only because the server keeps them longer.
pub const MAX_AGE_SECONDS: i64 = 65 * 60;

/// Whether it is of a later time than `other`, by any clock of the cluster. An agent does not write such an Event: its node
/// could not have joined.
pub fn is_after(time: Timestamp, other: Timestamp) -> bool {
    time.as_second() > other.as_second().saturating_add(MAX_SKEW_SECONDS)
}

/// Whether an agent that still sees it would have said it again.
pub fn is_late(lister: &Lister, written: Timestamp) -> bool {
    lister.seconds_since(written) > MAX_RENEWAL_SECONDS
}

/// Whether it says nothing of now.
pub fn has_expired(lister: &Lister, written: Timestamp) -> bool {
    lister.seconds_since(written) > MAX_AGE_SECONDS
}

//! Paths and queries.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All that RFC 3986 reserves.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~').remove(b'.');

/// Which objects of a collection are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector<'a> {
    Every,
    /// `fieldSelector`.
    Fields(&'a str),
    /// `labelSelector`.
    Labels(&'a str),
}

/// The path of a collection with its selector; whatever else is asked follows.
pub(crate) fn selected(path: &str, selector: Selector<'_>) -> String {
    match selector {
        Selector::Every => format!("{path}?"),
        Selector::Fields(selector) => format!("{path}?fieldSelector={}&", part(selector)),
        Selector::Labels(selector) => format!("{path}?labelSelector={}&", part(selector)),
    }
}

/// One part of a path or a value of a query. Names come from the user and from objects: none may
/// reach another path.
pub fn part(text: &str) -> String {
    // A name made of dots alone would be taken for a step up.
    let escaped = if text.bytes().all(|byte| byte == b'.') { NON_ALPHANUMERIC } else { ESCAPED };
    utf8_percent_encode(text, escaped).to_string()
}

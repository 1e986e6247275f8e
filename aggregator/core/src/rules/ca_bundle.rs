//! A caBundle that has expired: the API server believes no certificate that it is shown.

use jiff::Timestamp;

use super::phrases::age;
use crate::lister::Lister;
use crate::state::CaBundle;

/// When the last certificate of the bundle expired, and the same in words; nothing while one is valid.
pub fn expired(lister: &Lister, bundle: &CaBundle) -> Option<(Timestamp, String)> {
    let end = bundle.expires()?;
    let words = || format!("its last certificate expired at {end}, {} ago", age(lister, end));
    (lister.seconds_since(end) > 0).then(|| (end, words()))
}

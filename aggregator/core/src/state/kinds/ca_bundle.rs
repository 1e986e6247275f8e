//! The certificates of those whom a webhook's own certificate must come from.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use x509_cert::Certificate;

/// A longer one is not read.
const MAX_BASE64_BYTES: usize = 256 << 10;

/// PEM in base64, as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CaBundle(String);

impl CaBundle {
    /// When the last of its certificates expires: nothing can be called with it afterwards. None when it is empty or
    /// cannot be read.
    pub fn expires(&self) -> Option<Timestamp> {
        if self.0.len() > MAX_BASE64_BYTES {
            return None;
        }
        let pem = BASE64_STANDARD.decode(&self.0).ok()?;
        let all = Certificate::load_pem_chain(&pem).ok()?;
        let end = |one: &Certificate| one.tbs_certificate().validity().not_after.to_unix_duration().as_secs();
        Timestamp::from_second(i64::try_from(all.iter().map(end).max()?).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_expires_never() {
        for odd in ["", "\n", "\r\n\n", " ", "-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n"] {
            assert_eq!(CaBundle(BASE64_STANDARD.encode(odd)).expires(), None, "{odd:?}");
        }
        assert_eq!(CaBundle("no base64".to_owned()).expires(), None);
        assert_eq!(CaBundle("A".repeat(MAX_BASE64_BYTES + 4)).expires(), None);
    }
}

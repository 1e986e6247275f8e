//! By which an alert, an address and a question name one root. It is a hash, so that names stay out.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// Eight digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub struct RootId(u32);

impl RootId {
    /// Of the root with this key.
    pub fn new(key: &str) -> Self {
        RootId(Sha256::digest(key.as_bytes()).iter().take(4).fold(0, |id, byte| (id << 8) | u32::from(*byte)))
    }
}

impl fmt::Display for RootId {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

impl Serialize for RootId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RootId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for RootId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_id = text.len() == 8 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let id = is_id.then(|| u32::from_str_radix(text, 16).ok()).flatten();
        id.map(RootId).ok_or("the id of a root has eight hexadecimal digits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_the_same_and_is_read_as_it_is_written() {
        let id = RootId::new("NodeUnreachable:Node node-b");
        assert_eq!(id.to_string(), "e26e9eee", "alerts that fire now would be others");
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "e26e9ee", "e26e9eee0", "+26e9eee", "node-b.."] {
            assert!(wrong.parse::<RootId>().is_err(), "{wrong}");
        }
    }
}

//! Incidents as the bytes of a file: one line that says what follows, then JSON.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Incident;

/// No file of ours is longer, in bytes.
pub const MOST_BYTES: usize = 16 << 20;

const MAGIC: &str = "why-terminating-incidents";
const VERSION: u32 = 1;

/// Why a file is none of ours, or not whole.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is longer than anything that is written here.
    #[error("it has {0} bytes, more than are ever written")]
    TooLong(usize),
    /// Its first line is another.
    #[error("it does not begin as such a file does")]
    Foreign,
    /// It is of another version.
    #[error("it is of version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// What follows is not what was written.
    #[error("its checksum is wrong: it was cut off or changed")]
    Checksum,
    /// What follows cannot be read.
    #[error("its content cannot be read")]
    Content(#[from] serde_json::Error),
}

#[derive(Serialize, Deserialize)]
struct Content {
    incidents: Vec<Incident>,
}

/// The bytes to write. The oldest incidents that are over are left out when there are too many bytes.
pub fn encode(incidents: &[&Incident]) -> Result<Vec<u8>, serde_json::Error> {
    let mut most = incidents.len();
    loop {
        #[derive(Serialize)]
        struct Borrowed<'a> {
            incidents: &'a [&'a Incident],
        }
        let json = serde_json::to_vec(&Borrowed { incidents: &incidents[..most] })?;
        let head = format!("{MAGIC} {VERSION} {}\n", checksum(&json));
        if head.len() + json.len() <= MOST_BYTES || most == 0 {
            return Ok([head.into_bytes(), json].concat());
        }
        // The latest stand first.
        most = most * MOST_BYTES / (head.len() + json.len()) * 9 / 10;
    }
}

/// Reads what [`encode`] has written.
pub fn decode(bytes: &[u8]) -> Result<Vec<Incident>, FileError> {
    if bytes.len() > MOST_BYTES {
        return Err(FileError::TooLong(bytes.len()));
    }
    let end = bytes.iter().take(200).position(|byte| *byte == b'\n').ok_or(FileError::Foreign)?;
    let (head, rest) = bytes.split_at(end);
    let head = std::str::from_utf8(head).map_err(|_| FileError::Foreign)?;
    let [MAGIC, version, sum] = head.split(' ').collect::<Vec<_>>()[..] else { return Err(FileError::Foreign) };
    let version: u32 = version.parse().map_err(|_| FileError::Foreign)?;
    if version != VERSION {
        return Err(FileError::Version(version));
    }
    let json = rest.get(1..).unwrap_or_default();
    if checksum(json) != sum {
        return Err(FileError::Checksum);
    }
    Ok(serde_json::from_slice::<Content>(json)?.incidents)
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

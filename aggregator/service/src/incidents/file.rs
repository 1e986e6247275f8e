//! Incidents as a file: a line that says what follows, a line of JSON for each, and a checksum of all that.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use crate::incidents::Incident;

/// No file of ours is longer, in bytes.
pub const MAX_FILE_BYTES: usize = 16 << 20;

const MAGIC: &str = "why-terminating-incidents";
const VERSION: u32 = 1;
/// The last line: a SHA-256 in hexadecimal digits.
const CHECKSUM_LINE_BYTES: usize = 65;
/// The first and the last line together are shorter.
const MAX_FRAME_BYTES: usize = 200;

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

/// Writes them one by one: together they may have as many bytes as all else that is kept. The last are left out when there
/// are too many bytes.
pub fn encode<'a>(out: &mut impl Write, incidents: impl IntoIterator<Item = &'a Incident>) -> io::Result<()> {
    let (mut sum, mut bytes) = (Sha256::new(), 0);
    let mut write = |line: &[u8]| {
        sum.update(line);
        out.write_all(line)
    };
    write(format!("{MAGIC} {VERSION}\n").as_bytes())?;
    for incident in incidents {
        let mut line = serde_json::to_vec(incident)?;
        line.push(b'\n');
        bytes += line.len();
        if bytes > MAX_FILE_BYTES - MAX_FRAME_BYTES {
            break;
        }
        write(&line)?;
    }
    out.write_all(summed(&sum.finalize()).as_bytes())
}

/// Reads what [`encode`] has written.
pub fn decode(bytes: &[u8]) -> Result<Vec<Incident>, FileError> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(FileError::TooLong(bytes.len()));
    }
    let end = bytes.iter().take(MAX_FRAME_BYTES).position(|byte| *byte == b'\n').ok_or(FileError::Foreign)?;
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| FileError::Foreign)?;
    let version = head.strip_prefix(MAGIC).and_then(|rest| rest.trim_start().parse().ok()).ok_or(FileError::Foreign)?;
    if version != VERSION {
        return Err(FileError::Version(version));
    }
    let (content, sum) = bytes.split_at(bytes.len().saturating_sub(CHECKSUM_LINE_BYTES));
    if content.len() <= end || sum != summed(&Sha256::digest(content)).as_bytes() {
        return Err(FileError::Checksum);
    }
    let lines = content[end + 1..].split_inclusive(|byte| *byte == b'\n');
    Ok(lines.map(serde_json::from_slice).collect::<Result<_, _>>()?)
}

fn summed(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect()
}

//! What the copy is asked, and what it answers.

use std::io;

/// What is asked about a file below a directory.
#[derive(Clone, Debug)]
pub struct Question {
    pub kind: Kind,
    pub name: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// All of it, of at most so many bytes.
    File {
        /// In bytes.
        cap: u32,
    },
    /// Where the link leads.
    Link,
}

impl Kind {
    /// Its number on the wire, and the most bytes of a file.
    pub fn encode(self) -> [u32; 2] {
        match self {
            Kind::File { cap } => [0, cap],
            Kind::Link => [1, 0],
        }
    }

    pub fn decode(encoded: [u32; 2]) -> io::Result<Self> {
        Ok(match encoded {
            [0, cap] => Kind::File { cap },
            [1, _] => Kind::Link,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }
}

/// What an answer is: the bytes of a file, or where a link leads.
pub type Answer = io::Result<Vec<u8>>;

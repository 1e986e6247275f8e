//! What a child says: one JSON value per line.

use serde::{Deserialize, Serialize};

use crate::observation::{Dev, Fault, FuseProbe, HostPath};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Line {
    /// How a file system answered.
    Stat(FuseProbe),
    /// A process has a file mapped, as was asked for.
    Mapping(Mapping),
    /// A process has been looked at to the end.
    Looked {
        pid: u32,
    },
    /// Where a process's link (`cwd`, `fd/3`) leads.
    Place(Place),
    /// Where a path leads for a process.
    Real(RealPath),
    /// What was asked for is not there.
    Missing,
    Failed(Fault),
}

/// A file that a process has mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    pub pid: u32,
    /// When it started: by now another process may have its pid.
    pub start_ticks: u64,
    pub dev: Dev,
    pub path: HostPath,
}

/// Where a process's link leads, as the kernel knows it without asking any server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub pid: u32,
    pub start_ticks: u64,
    /// Its link: `cwd`, `root`, `fd/3`.
    pub link: String,
    pub dev: Dev,
    /// The mount, on Linux ≥ 5.8.
    pub mount_id: Option<u32>,
}

/// Where a path leads in the mount namespace of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealPath {
    /// The process.
    pub pid: u32,
    /// The path that was asked for.
    pub path: HostPath,
    /// The same without links in its directory; nothing where that is gone, or was not followed.
    pub real: Option<HostPath>,
}

/// The lines in `output`; whatever else stands there is left out.
pub(super) fn lines(output: &[u8]) -> Vec<Line> {
    output.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_survives_the_pipe() {
        let path = HostPath::new(&b"/a\xff\nb"[..]);
        let written =
            [Line::Mapping(Mapping { pid: 7, start_ticks: 9, dev: Dev { major: 8, minor: 1 }, path }), Line::Missing];
        let text: Vec<String> = written.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
        assert_eq!(lines(format!("noise\n{}\n{}\n{{\"cut", text[0], text[1]).as_bytes()), written);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = lines(&bytes);
        }
    }
}

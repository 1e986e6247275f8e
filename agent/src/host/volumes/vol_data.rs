//! Reading a `vol_data.json`.

use crate::host::tree::Tree;
use crate::observation::{HostPath, Seen, VolData};
use crate::parse;

/// The longest file that is read. The kubelet writes some hundred bytes.
const MAX_VOL_DATA_BYTES: usize = 64 << 10;

/// Reads the file at `path`.
pub(in crate::host) fn read_vol_data(tree: &Tree<'_>, path: &HostPath) -> VolData {
    let read = match tree.facts(path) {
        Seen::Seen(facts) if !facts.is_file => return VolData::Unusable("is not a regular file".to_owned()),
        Seen::Seen(facts) if facts.length > MAX_VOL_DATA_BYTES as u64 => {
            return VolData::Unusable(format!("is {} bytes long, which no kubelet writes", facts.length));
        }
        Seen::Seen(_) => tree.read(path, MAX_VOL_DATA_BYTES),
        Seen::Missing => Seen::Missing,
        Seen::NotAsked => Seen::NotAsked,
        Seen::Failed(fault) => Seen::Failed(fault),
    };
    match read {
        Seen::Seen(bytes) => parse::vol_data(&bytes),
        Seen::Missing | Seen::NotAsked => VolData::Missing,
        Seen::Failed(fault) => VolData::Failed(fault),
    }
}

//! Reading a `vol_data.json`.

use crate::host::tree::Tree;
use crate::observation::{HostPath, Seen, VolData};
use crate::parse;

/// The longest file that is read. The kubelet writes some hundred bytes.
const MAX_VOL_DATA_BYTES: usize = 64 << 10;

/// Reads the file at `path`.
pub(in crate::host) fn read_vol_data(tree: &Tree<'_>, path: &HostPath) -> VolData {
    let read = tree.facts(path).and_then(|facts| match facts.length {
        _ if !facts.is_file => Seen::Seen(Err("is not a regular file".to_owned())),
        length if length > MAX_VOL_DATA_BYTES as u64 => {
            Seen::Seen(Err(format!("is {length} bytes long, which no kubelet writes")))
        }
        _ => tree.read(path, MAX_VOL_DATA_BYTES).map(Ok),
    });
    match read {
        Seen::Seen(Ok(bytes)) => parse::vol_data(&bytes),
        Seen::Seen(Err(why)) => VolData::Unusable(why),
        Seen::Missing | Seen::NotAsked => VolData::Missing,
        Seen::Failed(fault) => VolData::Failed(fault),
    }
}

//! Reading a `vol_data.json`.

use std::io;

use crate::{
    host::{HostRoot, fault_at},
    observation::{HostPath, VolData},
    parse, sys,
};

/// The longest file that is read. The kubelet writes some hundred bytes.
const CAP: usize = 64 << 10;

/// Reads the file at `path`, which must be known to lie on a local file system.
pub(in crate::host) fn read_vol_data(host: &HostRoot, path: &HostPath) -> VolData {
    let at = host.at(path);
    match sys::file_facts(&at) {
        Ok(facts) if !facts.is_file => return VolData::Unusable("is not a regular file".to_owned()),
        Ok(facts) if facts.length > CAP as u64 => {
            return VolData::Unusable(format!("is {} bytes long, which no kubelet writes", facts.length));
        }
        Ok(_) => {}
        Err(error) => return failed(path, error),
    }
    match sys::read_capped(&at, CAP) {
        Ok(bytes) => parse::vol_data(&bytes),
        Err(error) => failed(path, error),
    }
}

fn failed(path: &HostPath, error: io::Error) -> VolData {
    match error.kind() {
        io::ErrorKind::NotFound => VolData::Missing,
        _ => VolData::Failed(fault_at(path, &error)),
    }
}

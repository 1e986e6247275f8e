//! Observations on disk.

use std::{io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use anyhow::Context;

use crate::{observation::Observation, sys};

pub fn load(path: &Path) -> anyhow::Result<Observation> {
    const MAX_OBSERVATION_BYTES: usize = 256 << 20;
    let bytes = sys::read_capped(path, MAX_OBSERVATION_BYTES).context("reading the observation")?;
    Observation::read(&bytes)
        .with_context(|| format!("{} is not an observation written by `check --save-observation`", path.display()))
}

/// Writes an observation where the user wants it.
pub fn save(seen: &Observation, path: &Path) -> anyhow::Result<()> {
    let json = serde_json::to_vec(seen).context("saving the observation")?;
    // Names of processes and files are for root alone.
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(&json));
    written.with_context(|| format!("writing {}", path.display()))
}

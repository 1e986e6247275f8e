//! Observations on disk.

use std::path::Path;

use anyhow::Context;

use crate::{observation::Observation, sys};

/// Reads a saved observation.
pub fn load(path: &Path) -> anyhow::Result<Observation> {
    const MAX: usize = 256 << 20;
    let bytes = sys::read_capped(path, MAX).context("reading the observation")?;
    serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is no observation that `check --save-observation` wrote", path.display()))
}

/// Writes an observation where the user wants it.
pub fn save(seen: &Observation, path: &Path) -> anyhow::Result<()> {
    let json = serde_json::to_vec(seen).context("saving the observation")?;
    std::fs::write(path, json).with_context(|| format!("writing {}", path.display()))
}

//! What a program is made of, for whoever gets it: the licences, and a bill of materials.

mod components;
mod notices;
mod runtime;
mod sbom;

use std::path::Path;

use anyhow::{Context, Result};

use crate::build::{Platform, Program};
use runtime::Runtime;

/// Both documents. The same program of the same sources has the same.
pub struct Bill {
    /// The licences, in one text.
    pub notices: String,
    /// CycloneDX 1.5, as JSON.
    pub materials: Vec<u8>,
}

impl Bill {
    /// That of a program which was built for a platform.
    pub fn of(root: &Path, program: Program, platform: Platform, bytes: &[u8]) -> Result<Self> {
        let components = components::of(root, program.package, platform.triple)?;
        let runtime = Runtime::of(bytes)?;
        let own = std::fs::read_to_string(root.join("LICENSE")).context("reading LICENSE")?;
        let notices = notices::text(program, &own, &runtime, &components)?;
        Ok(Bill { notices, materials: serde_json::to_vec(&sbom::document(program, &runtime, &components))? })
    }
}

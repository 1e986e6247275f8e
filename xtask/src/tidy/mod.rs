//! The repository's own rules.

mod diagnosis;
mod finders;
mod messages;
mod openers;
mod parity;
mod registry;
mod scenarios;
mod sources;
mod threats;

use std::path::Path;

use anyhow::{Result, bail};

use sources::Source;

/// Checks every rule and names all that is broken.
pub fn run(root: &Path) -> Result<()> {
    let sources = sources::tracked(root)?;
    let mut broken = openers::check(&sources);
    broken.extend(finders::check(&sources));
    broken.extend(parity::check(&sources));
    broken.extend(registry::check());
    broken.extend(scenarios::check(&sources));
    broken.extend(diagnosis::check(&sources));
    broken.extend(messages::check(&sources));
    broken.extend(threats::check(&sources));
    if broken.is_empty() {
        return Ok(());
    }
    for rule in &broken {
        eprintln!("{rule}");
    }
    bail!("{} rules of the repository are broken", broken.len());
}

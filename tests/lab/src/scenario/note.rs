//! What is left on disk about a scenario that stays staged.

use std::{fs, io};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::{Cure, Repair, Staged};
use crate::{Layout, PodRef};

/// How a staged scenario is taken down, for a command that did not stage it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// Its pods.
    pub pods: Vec<PodRef>,
    /// The command lines that are a cure.
    pub commands: Vec<String>,
    /// What else is one.
    pub repair: Option<Repair>,
    /// Whether the pods have to be deleted first, or are in no hurry to end.
    pub fine: bool,
}

impl Note {
    /// What to note of it.
    pub fn of(staged: &Staged) -> Self {
        let repair = match staged.cure {
            Cure::ByHand(repair) => Some(repair),
            Cure::Printed | Cure::None => None,
        };
        let fine = matches!(staged.cure, Cure::None);
        Self { pods: staged.pods.clone(), commands: staged.known_good.clone(), repair, fine }
    }

    /// Writes it down.
    pub fn write(&self, layout: &Layout, scenario: &str) -> anyhow::Result<()> {
        fs::create_dir_all(layout.staged()).context("make a place for notes")?;
        let path = layout.note(scenario);
        fs::write(&path, serde_json::to_vec_pretty(self)?).with_context(|| format!("write {}", path.display()))
    }

    /// Reads it again; nothing when the scenario is not staged.
    pub fn read(layout: &Layout, scenario: &str) -> anyhow::Result<Option<Self>> {
        let path = layout.note(scenario);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("parse {}", path.display())).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
        }
    }

    /// Forgets it.
    pub fn remove(layout: &Layout, scenario: &str) -> anyhow::Result<()> {
        let path = layout.note(scenario);
        fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))
    }
}

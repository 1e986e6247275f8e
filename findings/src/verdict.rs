//! How sure we are that something is stuck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer in one word. Ordered by how much it should worry the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// Nothing holds it.
    #[default]
    Clear,
    /// It is on its way: inside its grace period, or inside the kubelet's retry window.
    Progressing,
    /// A necessary source did not answer, or a right is missing. The report names it.
    CannotTell,
    /// A gate is blocked and stays blocked without intervention.
    Stuck,
}

impl Verdict {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Clear => "Clear",
            Verdict::Progressing => "Progressing",
            Verdict::CannotTell => "CannotTell",
            Verdict::Stuck => "Stuck",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

//! How sure we are that something is stuck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named! {
    /// The answer in one word. Ordered by how much it should worry the reader.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Verdict {
        /// Nothing holds it.
        #[default]
        Clear = "Clear",
        /// It is on its way: inside its grace period, or inside the kubelet's retry window.
        Progressing = "Progressing",
        /// A necessary source did not answer, or a right is missing. The report names it.
        CannotTell = "CannotTell",
        /// A gate is blocked and stays blocked without intervention.
        Stuck = "Stuck",
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

//! What "nothing is stuck" does not speak of.

use findings::{FaultKind, clean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind that was not scanned, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotScanned {
    /// As kubectl calls it; of an API that does not answer its group and version.
    pub kind: String,
    /// Why: `NotAsked` for Secrets without `--all-kinds`, `TooLarge` when time or bytes did not suffice for all objects.
    pub reason: FaultKind,
    /// How many of its objects were not scanned, where the server counts them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub objects: Option<usize>,
}

impl NotScanned {
    pub fn kind(kind: &str, reason: FaultKind) -> Self {
        NotScanned { kind: clean(kind, 127), reason, objects: None }
    }

    /// The same for a reader who has no permission to count the objects of the whole cluster.
    pub fn uncounted(&self) -> Self {
        NotScanned { objects: None, ..self.clone() }
    }
}

/// For each reason, in words, the kinds of it with how many of their objects were left out. `complete` is what is typed to
/// scan all.
pub fn by_reason(all: &[NotScanned], complete: &str) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for one in all {
        let name = match (one.reason, one.objects) {
            (FaultKind::TooLarge, Some(objects)) => format!("{} ({objects} objects left)", one.kind),
            _ => one.kind.clone(),
        };
        let reason = reason(one.reason, complete);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, kinds)) => kinds.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons
}

fn reason(kind: FaultKind, complete: &str) -> String {
    match kind {
        FaultKind::NotAsked => format!("only with {complete}, by metadata"),
        FaultKind::TooLarge => format!("the time or bytes of a quick scan did not suffice; {complete} scans all"),
        FaultKind::Denied => "no permission to list".to_owned(),
        FaultKind::Stale => "the API server cannot reach its backend".to_owned(),
        _ => "the list failed".to_owned(),
    }
}

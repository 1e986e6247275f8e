//! What the registry says of a diagnosis is so: it is made somewhere, and a test says so.

use findings::{Proven, cause::all};

use super::Source;

const AGENT: &str = "agent/src";

pub fn check(sources: &[Source]) -> Vec<String> {
    let agent: Vec<&Source> = sources.iter().filter(|source| source.is_rust() && source.is_in(AGENT)).collect();
    let has = |text: &str| agent.iter().any(|source| source.text.contains(text));
    let mut broken = Vec::new();
    for cause in all() {
        let id = cause.id;
        let is_made = has(&format!("cause::{}", screaming(id)));
        match cause.diagnosis {
            Proven::Untested if is_made => {
                broken.push(format!("{id}: diagnosed in {AGENT}, and the registry says it is not"))
            }
            Proven::Lab(_) | Proven::Observation if !is_made => {
                broken.push(format!("{id}: diagnosed nowhere in {AGENT}"))
            }
            Proven::Observation if !has(&format!("\"{id}\"")) => {
                broken.push(format!("{id}: proven by an observation, and no test in {AGENT} names it"));
            }
            _ => {}
        }
    }
    broken
}

/// `FuseServerGone` as the name of its static: `FUSE_SERVER_GONE`.
fn screaming(id: &str) -> String {
    let mut name = String::new();
    for (index, c) in id.char_indices() {
        if c.is_ascii_uppercase() && index > 0 {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnosis_that_nobody_makes_is_found() {
        assert!(check(&[]).iter().any(|rule| rule.starts_with("FuseServerGone: diagnosed nowhere")));
    }

    #[test]
    fn names_statics() {
        assert_eq!(screaming("FuseServerGone"), "FUSE_SERVER_GONE");
    }
}

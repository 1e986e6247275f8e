//! What the registry says of a diagnosis is so: it is made somewhere, and a test says so.

use findings::{Area, Cause, Proven, cause::all};

use super::Source;

const RECORDINGS: &str = "tests/recordings";
const ANSWERS: &str = "tests/answers/lab";

/// How the proof of a cause begins that no rule finds, before it says why.
const LOOKED_UP: &str = "Looked up only, because";

/// Where the diagnoses of a cause are made, and where tests name it.
struct Side {
    code: &'static str,
    tests: &'static str,
}

const AGENT: Side = Side { code: "agent/core/src", tests: "agent" };
const AGGREGATOR: Side = Side { code: "aggregator/core/src", tests: "aggregator/plugin/tests" };

pub fn check(sources: &[Source]) -> Vec<String> {
    all().flat_map(|cause| broken_in(cause, sources)).collect()
}

fn broken_in(cause: &Cause, sources: &[Source]) -> Vec<String> {
    let id = cause.id;
    let is_cluster = matches!(cause.area, Area::Cluster(_));
    let Side { code, tests } = if is_cluster { AGGREGATOR } else { AGENT };
    let has = |area: &str, text: &str| {
        sources.iter().any(|source| source.is_rust() && source.is_in(area) && source.text.contains(text))
    };
    let is_made = has(code, &format!("cause::{}", screaming(id)));
    let is_named = has(tests, &format!("\"{id}\""));
    match cause.diagnosis {
        Proven::Untested if !cause.proof.contains(LOOKED_UP) => {
            vec![format!("{id}: not diagnosed, and its proof does not say why: {LOOKED_UP:?} …")]
        }
        Proven::Untested if is_made => vec![format!("{id}: diagnosed in {code}, and the registry says it is not")],
        Proven::Lab(_) | Proven::Observation | Proven::Recording(_) | Proven::Cluster(_) if !is_made => {
            vec![format!("{id}: diagnosed nowhere in {code}")]
        }
        Proven::Lab(name) if !is_cluster && !is_shown(id, name, sources) => {
            vec![format!("{id}: proven by the scenario {name}, whose answer in {ANSWERS} names another root")]
        }
        // The lab runs the agent only.
        Proven::Lab(name) if is_cluster => vec![format!("{id}: the lab has no cluster that {name} could prove it in")],
        Proven::Observation | Proven::Recording(_) | Proven::Cluster(_) if !is_named => {
            vec![format!("{id}: proven by what was seen, and no test in {tests} names it")]
        }
        Proven::Recording(name) if !sources.iter().any(|source| source.is_in(&format!("{RECORDINGS}/{name}"))) => {
            vec![format!("{id}: proven by the recording {name}, which {RECORDINGS} does not have")]
        }
        _ => Vec::new(),
    }
}

/// Whether the answer of the scenario names the cause as a root.
fn is_shown(id: &str, scenario: &str, sources: &[Source]) -> bool {
    let path = format!("{ANSWERS}/{scenario}.txt");
    sources.iter().any(|source| source.path == path && source.text.contains(&format!("ROOT CAUSE {id}:")))
}

/// `FuseServerGone` as the name of its static: `FUSE_SERVER_GONE`.
pub(super) fn screaming(id: &str) -> String {
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
    use findings::ClusterArea;

    use super::*;

    fn cause(proof: &'static str, diagnosis: Proven) -> Cause {
        Cause::cluster(ClusterArea::Pod, "NobodyFindsIt").proof(proof).diagnosis(diagnosis)
    }

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn what_is_only_looked_up_says_why() {
        assert_eq!(broken_in(&cause("An Event.", Proven::Untested), &[]).len(), 1);
        assert!(broken_in(&cause("Looked up only, because no object shows it.", Proven::Untested), &[]).is_empty());
    }

    #[test]
    fn a_cause_of_the_cluster_needs_a_test_that_names_it() {
        let made = source("aggregator/core/src/rules/x.rs", "cause::NOBODY_FINDS_IT");
        let seen = cause("An Event.", Proven::Observation);
        assert!(
            broken_in(&seen, std::slice::from_ref(&made))[0].contains("no test in aggregator/plugin/tests names it")
        );
        let named = source("aggregator/plugin/tests/cluster/x.rs", "[\"NobodyFindsIt\"]");
        assert!(broken_in(&seen, &[made, named]).is_empty());
    }

    #[test]
    fn a_scenario_proves_what_its_answer_names() {
        let of_node = Cause::gate(findings::Gate::CgroupRemoved, "NobodyFindsIt").diagnosis(Proven::Lab("staged"));
        let made = || source("agent/core/src/causes/x.rs", "cause::NOBODY_FINDS_IT");
        let answered = |root: &str| [made(), source("tests/answers/lab/staged.txt", &format!("ROOT CAUSE {root}: x"))];
        assert!(broken_in(&of_node, &answered("NobodyFindsIt")).is_empty());
        assert!(broken_in(&of_node, &answered("CgroupFrozen"))[0].contains("names another root"));
    }

    #[test]
    fn a_diagnosis_that_nobody_makes_is_found() {
        assert!(check(&[]).iter().any(|rule| rule.starts_with("FuseServerGone: diagnosed nowhere")));
    }

    #[test]
    fn names_statics() {
        assert_eq!(screaming("FuseServerGone"), "FUSE_SERVER_GONE");
    }
}

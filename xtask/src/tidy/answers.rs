//! Each answer that is kept for the page of a cause is one that a test still gives.

use findings::{Proven, cause};

use super::Source;

pub fn check(sources: &[Source]) -> Vec<String> {
    sources.iter().filter(|source| source.path.ends_with(".txt")).filter_map(|source| wrong(source, sources)).collect()
}

fn wrong(source: &Source, sources: &[Source]) -> Option<String> {
    let (kind, name) = source.path.strip_prefix("tests/answers/")?.strip_suffix(".txt")?.split_once('/')?;
    let path = &source.path;
    if kind == "lab" {
        let is_shown = cause::all().any(|cause| matches!(cause.diagnosis, Proven::Lab(scenario) if scenario == name));
        return (!is_shown).then(|| format!("{path}: no cause is proven by this scenario"));
    }
    if cause::find(name).is_none() {
        return Some(format!("{path}: there is no cause of this name"));
    }
    let test = source.text.split_whitespace().nth(1).and_then(|test| test.rsplit("::").next()).unwrap_or_default();
    let is_given = sources.iter().any(|source| source.has_test(test));
    (!is_given).then(|| format!("{path}: there is no test {test:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_a_test_or_a_cause_that_is_no_more_is_told() {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let check =
            |name: &str, text: &str| check(&[source(name, text), source("a.rs", "#[test]\nfn a_volume_is_held() {}")]);
        let held = "tests/answers/node/VolumeHeldByProcess.txt";
        assert_eq!(check(held, "0 causes::tests::a_volume_is_held 0\n\nx"), [""; 0]);
        assert_eq!(check(held, "0 causes::tests::another 0\n\nx").len(), 1);
        assert_eq!(check("tests/answers/node/NoCause.txt", "0 causes::tests::a_volume_is_held 0\n\nx").len(), 1);
        assert_eq!(check("tests/answers/lab/no-scenario.txt", "").len(), 1);
        assert_eq!(check("tests/answers/lab/open-fd.txt", ""), [""; 0]);
    }
}

//! Each threat in the table names a test, and each test that it names is there.

use super::Source;

const DOCUMENT: &str = "docs/evidence/threats.md";
const HEADING: &str = "# Threats";

pub fn check(sources: &[Source]) -> Vec<String> {
    let document = sources.iter().find(|source| source.path == DOCUMENT);
    let table = document.and_then(|document| document.text.split_once(HEADING)).map_or("", |(_, below)| below);
    let rows = table.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| "));
    // The first is the head.
    let rows: Vec<&str> = rows.skip(1).collect();
    if rows.is_empty() {
        return vec![format!("{DOCUMENT}: no table below {HEADING:?}")];
    }
    rows.into_iter().flat_map(|row| broken_in(row, sources)).collect()
}

fn broken_in(row: &str, sources: &[Source]) -> Vec<String> {
    let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let tests: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
    if tests.is_empty() {
        return vec![format!("{DOCUMENT}: a threat without a test: {row}")];
    }
    let missing = tests.into_iter().filter(|test| !sources.iter().any(|source| has_test(source, test)));
    missing.map(|test| format!("{DOCUMENT}: there is no test {test}")).collect()
}

/// Whether it has a function that is a test, a scenario, or a check of the chart that is called, of this name.
fn has_test(source: &Source, name: &str) -> bool {
    let is_test = |before: &str| {
        // The last thing before it but for other attributes.
        let end = before.rfind('}').map_or(0, |end| end + 1);
        before[end..].contains("#[test]") || before[end..].contains("#[tokio::test")
    };
    let function = source.text.split_once(&format!("fn {name}("));
    if source.path.ends_with(".py") && source.is_in("tests") {
        return source.text.contains(&format!("def {name}(")) && source.text.matches(&format!("{name}(")).count() > 1;
    }
    source.is_rust()
        && (function.is_some_and(|(before, _)| is_test(before))
            || (source.is_in("tests") && source.text.contains(&format!("\"{name}\""))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(row: &str, code: &str) -> usize {
        broken_in_file(row, "tests/scenarios/tests/a.rs", code)
    }

    fn broken_in_file(row: &str, path: &str, code: &str) -> usize {
        let text = format!("{HEADING}\n\n| Who | test |\n|---|---|\n{row}\n");
        let source = |path: &str, text: String| Source { path: path.to_owned(), text };
        check(&[source(DOCUMENT, text), source(path, code.to_owned())]).len()
    }

    #[test]
    fn a_test_that_is_gone_or_was_never_named_is_reported() {
        let row = "| a tenant | `one_test`, `a-scenario` |";
        assert_eq!(broken(row, "#[test]\nfn one_test() {}\nconst A: &str = \"a-scenario\";"), 0);
        assert_eq!(broken(row, "#[tokio::test(flavor = \"x\")]\nasync fn one_test() {} \"a-scenario\""), 0);
        assert_eq!(broken(row, ""), 2);
        assert_eq!(broken("| a tenant | `no_test` |", "fn no_test() {}"), 1, "a function is not yet a test");
        assert_eq!(broken("| `a tenant` | nothing |", ""), 1);
        assert_eq!(broken("", ""), 1, "an empty table");
    }

    #[test]
    fn a_check_of_the_chart_is_one_where_it_is_called() {
        let chart = |code| broken_in_file("| an account | `check_rights` |", "tests/chart/chart.py", code);
        assert_eq!(chart("def check_rights():\n    pass\n\n\ncheck_rights()\n"), 0);
        assert_eq!(chart("def check_rights():\n    pass\n"), 1);
    }
}

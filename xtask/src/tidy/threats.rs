//! Each test that the table of threats names is there.

use super::Source;

const DOCUMENT: &str = "docs/security.md";
const HEADING: &str = "## Threats";

pub fn check(sources: &[Source]) -> Vec<String> {
    let Some(document) = sources.iter().find(|source| source.path == DOCUMENT) else {
        return vec![format!("{DOCUMENT}: not there")];
    };
    let rows = rows(&document.text);
    if rows.is_empty() {
        return vec![format!("{DOCUMENT}: no table below {HEADING:?}")];
    }
    let mut broken = Vec::new();
    for (number, row) in rows {
        let tests: Vec<&str> = tests(row).collect();
        if tests.is_empty() {
            broken.push(format!("{DOCUMENT}:{number}: a threat without a test"));
        }
        let missing = tests.into_iter().filter(|test| !sources.iter().any(|source| source.has_test(test)));
        broken.extend(missing.map(|test| format!("{DOCUMENT}:{number}: there is no test {test}")));
    }
    broken
}

/// The lines of the table with their numbers, without its head.
fn rows(text: &str) -> Vec<(usize, &str)> {
    let below = (1..).zip(text.lines()).skip_while(|(_, line)| *line != HEADING).skip(1);
    let lines = below.take_while(|(_, line)| !line.starts_with("## ")).filter(|(_, line)| line.starts_with('|'));
    lines.skip(2).collect()
}

/// What stands in backquotes in the last column.
fn tests(row: &str) -> impl Iterator<Item = &str> {
    let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    last.split('`').skip(1).step_by(2)
}

impl Source {
    /// A function that is a test, or a scenario of this name.
    pub fn has_test(&self, name: &str) -> bool {
        let is_test = |attributes: &str| {
            // The last thing before it but for other attributes.
            let end = attributes.rfind('}').map_or(0, |end| end + 1);
            attributes[end..].contains("#[test]") || attributes[end..].contains("#[tokio::test")
        };
        let is_scenario = || self.is_in("tests") && self.text.contains(&format!("\"{name}\""));
        let function = format!("fn {name}(");
        self.is_rust() && (self.text.split_once(&function).is_some_and(|(before, _)| is_test(before)) || is_scenario())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(row: &str, code: &str) -> Vec<String> {
        let text = format!("# Security\n{HEADING}\n\n| Who | test |\n|---|---|\n{row}\n");
        let source = |path: &str, text: String| Source { path: path.to_owned(), text };
        check(&[source(DOCUMENT, text), source("tests/scenarios/tests/a.rs", code.to_owned())])
    }

    #[test]
    fn a_test_that_is_gone_or_was_never_named_is_told() {
        let row = "| a tenant | `one_test`, `a-scenario` |";
        let code = "#[test]\nfn one_test() {}\nfn no_test() {}\nconst A: &str = \"a-scenario\";";
        assert_eq!(broken(row, code), [""; 0]);
        assert_eq!(broken(row, "#[tokio::test(flavor = \"x\")]\nasync fn one_test() {} \"a-scenario\""), [""; 0]);
        assert_eq!(broken(row, "").len(), 2);
        assert_eq!(broken("| a tenant | `no_test` |", code).len(), 1, "a function is not yet a test");
        assert_eq!(broken("| `a tenant` | nothing |", code).len(), 1);
        assert_eq!(broken("", code).len(), 1, "an empty table");
        assert_eq!(check(&[]).len(), 1, "no document");
    }
}

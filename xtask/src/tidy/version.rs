//! The version stands in `Cargo.toml`; what repeats it by hand repeats the same.

use super::Source;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What stands before a version of this project.
const MARKS: &[&str] = &["agent:", "aggregator:", "plugin:", "$image:", "newTag: ", "appVersion: ", "image.version="];
const CHANGELOG: &str = "CHANGELOG.md";

pub fn check(sources: &[Source]) -> Vec<String> {
    let is_written = |source: &&Source| {
        source.path == "Dockerfile" || source.path.starts_with("deploy/") || source.path.ends_with(".md")
    };
    let mut broken: Vec<String> = sources.iter().filter(is_written).flat_map(others).collect();
    let changelog = sources.iter().find(|source| source.path == CHANGELOG);
    let newest = changelog.and_then(|source| source.text.lines().find_map(|line| line.strip_prefix("## ")));
    if !newest.is_some_and(|heading| heading.split([' ', ':']).any(|word| word == VERSION)) {
        broken.push(format!("{CHANGELOG}: its first section is not about version {VERSION}"));
    }
    broken
}

fn others(source: &Source) -> Vec<String> {
    let found = MARKS.iter().flat_map(|mark| source.text.split(mark).skip(1));
    let versions = found.map(|rest| {
        let rest = rest.trim_start_matches('"');
        rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default().trim_end_matches('.')
    });
    let others = versions.filter(|version| version.matches('.').count() == 2 && *version != VERSION);
    others.map(|version| format!("{}: names version {version}, and this is {VERSION}", source.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> Vec<String> {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        check(&[source(path, text), source(CHANGELOG, &format!("# Changelog\n\n## Unreleased: {VERSION}\n"))])
    }

    #[test]
    fn another_version_is_told() {
        for text in [
            "image/agent:9.9.9 .",
            "why-terminating/$image:9.9.9",
            "newTag: \"9.9.9\"",
            "appVersion: 9.9.9\n",
            "image.version=\"9.9.9\"",
        ] {
            assert_eq!(broken("deploy/a.yaml", text).len(), 1, "{text}");
            assert_eq!(broken("deploy/a.yaml", &text.replace("9.9.9", VERSION)), [""; 0], "{text}");
        }
        assert_eq!(broken("deploy/a.yaml", "agent:\n  image: x:1.2.3"), [""; 0]);
    }

    #[test]
    fn the_changelog_is_about_this_version() {
        assert_eq!(broken(CHANGELOG, "# Changelog\n\n## 9.9.9 (2026-01-01)\n").len(), 1);
    }
}

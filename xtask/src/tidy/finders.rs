//! A cause is named by who finds it and by tests; what else is to be known of it stands in its entry.

use findings::cause::all;

use super::{Source, diagnosis::screaming};

/// Where causes are found.
const FINDERS: &[&str] =
    &["agent/core/src/causes", "aggregator/core/src/rules", "aggregator/core/src/deletion_cycle.rs"];

/// The registry itself.
const REGISTRY: &str = "findings/src/cause";

pub fn check(sources: &[Source]) -> Vec<String> {
    let statics: Vec<String> = all().map(|cause| screaming(cause.id)).collect();
    let elsewhere = sources.iter().filter(|source| source.is_rust() && !is_finder_or_test(source));
    elsewhere.flat_map(|source| broken_in(source, &statics)).collect()
}

fn is_finder_or_test(source: &Source) -> bool {
    let is_test = |part: &str| part.trim_end_matches(".rs") == "tests";
    source.path.split('/').any(is_test) || FINDERS.iter().chain([&REGISTRY]).any(|area| source.is_in(area))
}

/// Tests that stand in a file stand at its end.
fn broken_in(source: &Source, statics: &[String]) -> Vec<String> {
    let code = source.text.split("mod tests {").next().unwrap_or_default();
    let named =
        statics.iter().filter(|name| code.contains(&format!("cause::{name}")) || code.contains(&format!("&{name}")));
    named
        .map(|name| format!("{}: names {name}; what it must know of causes belongs into their entries", source.path))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> usize {
        check(&[Source { path: path.to_owned(), text: text.to_owned() }]).len()
    }

    #[test]
    fn only_finders_and_tests_name_a_cause() {
        let list = "let detach = [&cause::GLOBAL_MOUNT_LEFT, &cause::LOOP_DEVICE_LEFT];";
        assert_eq!(broken("agent/core/src/gates/node.rs", list), 2);
        assert_eq!(broken("agent/core/src/causes/global_mount.rs", list), 0);
        assert_eq!(broken("agent/core/src/gates/tests.rs", list), 0);
        assert_eq!(broken("agent/src/run/x.rs", &format!("#[cfg(test)]\nmod tests {{\n{list}")), 0);
    }
}

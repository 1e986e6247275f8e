//! Sentences of Kubernetes are looked into in one place.
//!
//! Their type hands the text out only to be shown; this closes the way around it.

use super::Source;

const CORE: &str = "aggregator/core/src";
const SEARCHES: [&str; 5] = [".contains(\"", ".starts_with(\"", ".ends_with(\"", ".find(\"", "Regex::new"];
/// Advice of an agent is compared with the registry's own templates.
const ELSEWHERE: [&str; 2] = ["aggregator/core/src/messages", "aggregator/core/src/rules/agent"];

/// On the node names are compared everywhere; what a source said in words is not.
const NODE: [&str; 3] = ["agent/core/src/causes", "agent/core/src/gates", "agent/core/src/view"];
const WORDS: [&str; 4] = ["message.contains(", "body.contains(", "says.contains(", "says.starts_with("];

pub fn check(sources: &[Source]) -> Vec<String> {
    let core = sources.iter().filter(|source| source.is_rust() && source.is_in(CORE));
    let cluster = core.filter(|source| !ELSEWHERE.iter().any(|area| source.is_in(area))).flat_map(broken_in);
    let node = sources.iter().filter(|source| source.is_rust() && NODE.iter().any(|area| source.is_in(area)));
    cluster.chain(node.filter(|source| !source.path.contains("/tests")).flat_map(broken_on_node)).collect()
}

fn broken_on_node(Source { path, text }: &Source) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let searches = (1..).zip(code.lines()).filter(|(_, line)| WORDS.iter().any(|words| line.contains(words)));
    searches.map(|(line, _)| format!("{path}:{line}: sentences are looked into in messages.rs only")).collect()
}

fn broken_in(Source { path, text }: &Source) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let searches = (1..).zip(code.lines()).filter(|(_, line)| SEARCHES.iter().any(|search| line.contains(search)));
    // A name has a form of its own; what is written for people has none.
    let of_text =
        searches.filter(|(_, line)| !line.contains("group.") && !line.contains("other.") && !line.contains("name."));
    of_text.map(|(line, _)| format!("{path}:{line}: sentences are looked into in messages/ only")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_looks_into_sentences() {
        let broken = |path: &str, line: &str| check(&[Source { path: path.to_owned(), text: line.to_owned() }]).len();
        let line = r#"if failure.message.to_string().contains("x509:") {"#;
        assert_eq!(broken("aggregator/core/src/rules/pod.rs", line), 1);
        assert_eq!(broken("aggregator/core/src/messages/errors.rs", line), 0);
        assert_eq!(broken("agent/core/src/causes/kubelet.rs", "if fault.says.contains(\"refused\") {"), 1);
        assert_eq!(broken("aggregator/core/src/rules/pod.rs", r#"resource.group.ends_with(".k8s.io")"#), 0);
    }
}

//! Which namespaces a program is set to watch. Of its environment and arguments nothing else is kept.

use serde::{Deserialize, Deserializer, Serialize};

use super::lite;

/// More names are not kept.
const MAX_NAMES: usize = 64;

/// The variables that the SDKs of operators read.
const VARIABLES: [&str; 2] = ["WATCH_NAMESPACE", "WATCH_NAMESPACES"];
/// The arguments that say the same. The last is of others the namespace that they run in.
const ARGUMENTS: [&str; 3] = ["watch-namespace", "watch-namespaces", "namespace"];

/// What runs in a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerSpec {
    pub name: String,
    pub image: String,
    #[serde(skip_serializing_if = "Watched::is_all")]
    watched: Watched,
}

lite! {
    /// The namespaces that settings name; none means all.
    Watched {
        names: Vec<String>,
        /// Whether it is that of its own pod.
        own: bool,
        /// Whether an argument names them that others have for the namespace that they run in.
        may_be_own: bool,
    }

    /// A container as the API has it, or as it was saved.
    Read {
        name: String,
        image: String,
        command: Vec<String>,
        args: Vec<String>,
        env: Vec<Variable>,
        watched: Watched,
    }

    Variable {
        name: String,
        value: String,
        value_from: Source,
    }

    Source {
        field_ref: FieldPath,
    }

    FieldPath {
        field_path: String,
    }
}

impl ContainerSpec {
    /// Whether a program of namespace `own` is set to watch others, and not this one.
    pub fn leaves_out(&self, own: &str, namespace: &str) -> bool {
        let Watched { names, own: watches_own, may_be_own } = &self.watched;
        let is_watched = names.iter().any(|name| name == namespace) || (*watches_own && own == namespace);
        let is_unclear = *may_be_own && names.iter().any(|name| name == own);
        !self.watched.is_all() && !is_watched && !is_unclear
    }
}

impl<'de> Deserialize<'de> for ContainerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Read::deserialize(deserializer)?;
        let mut watched = read.watched;
        for variable in read.env.iter().filter(|one| VARIABLES.contains(&one.name.as_str())) {
            watched.add(&variable.value);
            watched.own |= variable.value_from.field_ref.field_path == "metadata.namespace";
        }
        let mut words = read.command.iter().chain(&read.args).map(String::as_str).peekable();
        while let Some(word) = words.next() {
            let Some(argument) = word.strip_prefix('-').map(|rest| rest.trim_start_matches('-')) else { continue };
            let (name, value) = argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)));
            if ARGUMENTS.contains(&name) {
                watched.may_be_own |= name == "namespace";
                watched.add(value.or_else(|| words.peek().copied()).unwrap_or_default());
            }
        }
        Ok(ContainerSpec { name: read.name, image: read.image, watched })
    }
}

impl Watched {
    fn is_all(&self) -> bool {
        self.names.is_empty() && !self.own
    }

    /// Adds those of a list that are names: of a variable in their place nothing is known.
    fn add(&mut self, list: &str) {
        let names = list.split(',').map(str::trim).filter(|name| is_name(name));
        self.names.extend(names.map(str::to_owned).take(MAX_NAMES.saturating_sub(self.names.len())));
    }
}

fn is_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len()) && name.chars().all(is_inner) && !name.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(settings: serde_json::Value) -> ContainerSpec {
        serde_json::from_value(settings).unwrap()
    }

    #[test]
    fn settings_name_the_namespaces_that_are_watched() {
        for settings in [
            serde_json::json!({"env": [{"name": "WATCH_NAMESPACE", "value": "team-a, team-b"}]}),
            serde_json::json!({"args": ["--watch-namespaces=team-a,team-b"]}),
            serde_json::json!({"command": ["/manager"], "args": ["--watch-namespace", "team-a,team-b", "--v=2"]}),
            serde_json::json!({"args": ["-namespace=team-a,team-b"]}),
        ] {
            let read = container(settings.clone());
            assert!(read.leaves_out("ops", "shop") && read.leaves_out("ops", "ops"), "{settings}");
            assert!(!read.leaves_out("ops", "team-b"), "{settings}");
            let saved = serde_json::to_string(&read).unwrap();
            assert!(!saved.contains("--") && !saved.contains("WATCH"), "{saved}");
            assert_eq!(container(serde_json::from_str(&saved).unwrap()), read);
        }
        let unclear = container(serde_json::json!({"args": ["--namespace=ops"]}));
        assert!(!unclear.leaves_out("ops", "shop") && unclear.leaves_out("other", "shop"));
        let own = container(serde_json::json!({"env": [
            {"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
        ]}));
        assert!(own.leaves_out("ops", "shop") && !own.leaves_out("ops", "ops"));
    }

    #[test]
    fn what_names_none_watches_all() {
        for settings in [
            serde_json::json!({}),
            serde_json::json!({"env": null, "args": null}),
            serde_json::json!({"env": [{"name": "WATCH_NAMESPACE", "value": ""}, {"name": "TOKEN", "value": "s3cret"}]}),
            serde_json::json!({"args": ["--namespace=$(POD_NAMESPACE)", "--leader-election-namespace=ops"]}),
        ] {
            let read = container(settings.clone());
            assert!(!read.leaves_out("ops", "shop"), "{settings}");
            assert!(!serde_json::to_string(&read).unwrap().contains("s3cret"));
        }
    }
}

//! Webhook configurations.

use std::collections::BTreeMap;

use super::{ClientConfig, Meta, Nothing, lite};

lite! {
    /// A Validating- or MutatingWebhookConfiguration.
    WebhookConfiguration {
        /// Its metadata.
        metadata: Meta,
        /// The webhooks.
        webhooks: Vec<Webhook>,
    }
}

lite! {
    /// A webhook.
    Webhook {
        /// Its name, as errors print it.
        name: String,
        /// Where to call it.
        client_config: ClientConfig,
        /// What it is asked about.
        rules: Vec<WebhookRule>,
        /// `Fail`, which is the default, or `Ignore`.
        failure_policy: String,
        /// Which namespaces it is asked about.
        namespace_selector: Selector,
        /// Which objects it is asked about.
        object_selector: Selector,
        /// Conditions in CEL, which are not evaluated here.
        match_conditions: Vec<Nothing>,
    }
}

lite! {
    /// What a webhook is asked about.
    WebhookRule {
        /// `DELETE`, `UPDATE`, `*`.
        operations: Vec<String>,
        /// Groups.
        api_groups: Vec<String>,
        /// Resources and subresources.
        resources: Vec<String>,
    }
}

lite! {
    /// A label selector.
    Selector {
        /// Labels and their values.
        match_labels: BTreeMap<String, String>,
        /// Expressions.
        match_expressions: Vec<Requirement>,
    }
}

lite! {
    /// One expression of a label selector.
    Requirement {
        /// The label.
        key: String,
        /// `In`, `NotIn`, `Exists`, `DoesNotExist`.
        operator: String,
        /// The values.
        values: Vec<String>,
    }
}

impl Selector {
    /// Whether these labels match. An operator of a later version matches: better to name one
    /// webhook too many than to overlook the one that holds everything.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = |key: &str| labels.get(key);
        self.match_labels.iter().all(|(key, wanted)| value(key) == Some(wanted))
            && self.match_expressions.iter().all(|requirement| {
                let value = value(&requirement.key);
                let is_among = || value.is_some_and(|value| requirement.values.contains(value));
                match requirement.operator.as_str() {
                    "In" => is_among(),
                    "NotIn" => !is_among(),
                    "Exists" => value.is_some(),
                    "DoesNotExist" => value.is_none(),
                    _ => true,
                }
            })
    }
}

impl Webhook {
    /// Whether a failure to call it refuses the request.
    pub fn refuses_when_it_fails(&self) -> bool {
        self.failure_policy != "Ignore"
    }

    /// Whether it is asked about this operation on this resource (`pods/status` for a subresource).
    pub fn asks_about(&self, operation: &str, group: &str, resource: &str) -> bool {
        let one_of = |list: &[String], wanted: &str| list.iter().any(|entry| entry == "*" || entry == wanted);
        let covers = |pattern: &str| match (pattern.split_once('/'), resource.split_once('/')) {
            (None, None) => pattern == "*" || pattern == resource,
            (Some((wanted, sub)), Some((plural, subresource))) => {
                (wanted == "*" || wanted == plural) && (sub == "*" || sub == subresource)
            }
            (Some((wanted, "*")), None) => wanted == "*" || wanted == resource,
            _ => false,
        };
        self.rules.iter().any(|rule| {
            one_of(&rule.operations, operation)
                && one_of(&rule.api_groups, group)
                && rule.resources.iter().any(|pattern| covers(pattern))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(resources: &[&str]) -> Webhook {
        let rule = serde_json::json!({"operations": ["DELETE"], "apiGroups": [""], "resources": resources});
        serde_json::from_value(serde_json::json!({"rules": [rule]})).unwrap()
    }

    #[test]
    fn rules_match_as_the_server_matches_them() {
        assert!(webhook(&["configmaps"]).asks_about("DELETE", "", "configmaps"));
        assert!(webhook(&["*"]).asks_about("DELETE", "", "configmaps"));
        assert!(!webhook(&["*"]).asks_about("DELETE", "", "pods/status"));
        assert!(webhook(&["pods/*"]).asks_about("DELETE", "", "pods/status"));
        assert!(!webhook(&["configmaps"]).asks_about("UPDATE", "", "configmaps"));
        assert!(!webhook(&["configmaps"]).asks_about("DELETE", "apps", "configmaps"));
    }

    #[test]
    fn selectors_match_as_the_server_matches_them() {
        let selector: Selector = serde_json::from_value(serde_json::json!({
            "matchLabels": {"a": "1"},
            "matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]
        }))
        .unwrap();
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        assert!(selector.matches(&labels(&[("a", "1")])));
        assert!(!selector.matches(&labels(&[("a", "1"), ("skip", "")])));
        assert!(!selector.matches(&labels(&[])));
    }
}

//! Webhook configurations, and the policy about the agents' Events.

use std::collections::BTreeMap;

use super::{ClientConfig, Meta, Nothing, lite};
use crate::state::Texts;

lite! {
    /// A Validating- or MutatingWebhookConfiguration.
    WebhookConfiguration {
        metadata: Meta,
        webhooks: Vec<Webhook>,
    }

    Webhook {
        /// Its name, as errors print it.
        name: String,
        /// Where to call it.
        client_config: ClientConfig,
        /// What it is asked about.
        rules: Vec<WebhookRule>,
        /// `Fail`, which is the default, or `Ignore`.
        failure_policy: String,
        /// `Exact`, or `Equivalent`, which is the default: also asked about other versions of a kind.
        match_policy: String,
        /// Which namespaces it is asked about.
        namespace_selector: Selector,
        /// Which objects it is asked about.
        object_selector: Selector,
        /// Conditions in CEL, which are not evaluated here.
        match_conditions: Vec<Nothing>,
    }

    /// What a webhook is asked about.
    WebhookRule {
        /// `DELETE`, `UPDATE`, `*`.
        operations: Vec<String>,
        api_groups: Vec<String>,
        api_versions: Vec<String>,
        resources: Vec<String>,
        /// `Namespaced`, `Cluster`, or `*`, which is the default.
        scope: String,
        /// Of a policy: these objects alone.
        resource_names: Vec<String>,
    }

    Selector {
        match_labels: BTreeMap<String, String>,
        match_expressions: Vec<Requirement>,
    }

    /// One expression of a label selector.
    Requirement {
        key: String,
        /// `In`, `NotIn`, `Exists`, `DoesNotExist`.
        operator: String,
        values: Vec<String>,
    }

    /// A Validating- or MutatingAdmissionPolicy.
    AdmissionPolicy {
        metadata: Meta,
        /// What it asks for.
        spec: AdmissionPolicySpec,
    }

    /// What a policy asks for. The expressions are CEL and not evaluated here.
    AdmissionPolicySpec {
        /// `Fail`, which is the default, or `Ignore`.
        failure_policy: String,
        validations: Vec<Nothing>,
        /// The kind of its parameters, if it has any.
        param_kind: Option<ParamKind>,
        /// Which requests it is about.
        match_constraints: MatchResources,
        /// Conditions in CEL, which are not evaluated here.
        match_conditions: Vec<Nothing>,
    }

    /// A kind of parameters.
    ParamKind {
        /// Group and version.
        api_version: String,
        kind: String,
    }

    /// Which requests a policy or its binding is about.
    MatchResources {
        /// In which namespaces.
        namespace_selector: Selector,
        /// About which objects.
        object_selector: Selector,
        resource_rules: Vec<WebhookRule>,
        /// But not about this.
        exclude_resource_rules: Vec<WebhookRule>,
        /// `Exact`, or `Equivalent`, which is the default.
        match_policy: String,
    }

    AdmissionPolicyBinding {
        metadata: Meta,
        spec: AdmissionPolicyBindingSpec,
    }

    AdmissionPolicyBindingSpec {
        policy_name: String,
        /// `Deny`, `Warn`, `Audit`; none at the binding of a MutatingAdmissionPolicy.
        validation_actions: Vec<String>,
        param_ref: Option<ParamRef>,
        /// Which requests it is about, when it is not about all that its policy matches.
        match_resources: Option<MatchResources>,
    }

    ParamRef {
        name: String,
        /// In which namespace; else in that of the request.
        namespace: String,
        /// Or by their labels.
        selector: Option<Selector>,
        /// `Allow` or `Deny`: whether requests are let in when there are none.
        parameter_not_found_action: String,
    }
}

impl MatchResources {
    /// As a webhook would ask for the same requests.
    pub fn as_webhook(&self, rules: &[WebhookRule]) -> Webhook {
        Webhook {
            rules: rules.to_vec(),
            match_policy: self.match_policy.clone(),
            namespace_selector: self.namespace_selector.clone(),
            object_selector: self.object_selector.clone(),
            ..Webhook::default()
        }
    }
}

impl Selector {
    /// Whether these labels match. An operator of a later version matches: better to name one
    /// webhook too many than to overlook the one that holds everything.
    pub fn matches(&self, labels: &Texts) -> bool {
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

    /// Its failurePolicy, by name.
    pub fn policy(&self) -> &'static str {
        if self.refuses_when_it_fails() { "Fail" } else { "Ignore" }
    }

    /// Whether it is asked about some deletion.
    pub fn is_about_deletions(&self) -> bool {
        self.rules.iter().any(|rule| rule.operations.iter().any(|it| it == "DELETE" || it == "*"))
    }

    /// Whether it is about this group alone, as an operator's own are: a policy engine's are about many.
    pub fn is_only_about(&self, group: &str) -> bool {
        !self.rules.is_empty() && self.rules.iter().all(|rule| rule.api_groups.as_slice() == [group])
    }

    /// Whether it is asked about the versions of its rules alone.
    pub fn is_exact(&self) -> bool {
        self.match_policy == "Exact"
    }

    /// The versions of the rules about this operation on an object of this name and resource (`pods/status` for a subresource).
    pub fn matching_versions(
        &self,
        operation: &str,
        group: &str,
        (resource, name): (&str, &str),
        namespaced: bool,
    ) -> Vec<&str> {
        let one_of = |list: &[String], wanted: &str| list.iter().any(|entry| entry == "*" || entry == wanted);
        let covers = |pattern: &str| match (pattern.split_once('/'), resource.split_once('/')) {
            (None, None) => pattern == "*" || pattern == resource,
            (Some((wanted, sub)), Some((plural, subresource))) => {
                (wanted == "*" || wanted == plural) && (sub == "*" || sub == subresource)
            }
            (Some((wanted, "*")), None) => wanted == "*" || wanted == resource,
            _ => false,
        };
        let is_about = |rule: &&WebhookRule| {
            let in_scope = match rule.scope.as_str() {
                "Namespaced" => namespaced,
                "Cluster" => !namespaced,
                _ => true,
            };
            let is_named = rule.resource_names.is_empty() || rule.resource_names.iter().any(|one| one == name);
            in_scope
                && is_named
                && one_of(&rule.operations, operation)
                && one_of(&rule.api_groups, group)
                && rule.resources.iter().any(|pattern| covers(pattern))
        };
        self.rules.iter().filter(is_about).flat_map(|rule| &rule.api_versions).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(resources: &[&str]) -> Webhook {
        let rule = serde_json::json!({
            "operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": resources
        });
        serde_json::from_value(serde_json::json!({"rules": [rule]})).unwrap()
    }

    #[test]
    fn rules_match_as_the_server_matches_them() {
        let asks = |resources: &[&str], operation: &str, group: &str, resource: &str| {
            webhook(resources).matching_versions(operation, group, (resource, "x"), true) == ["v1"]
        };
        assert!(asks(&["configmaps"], "DELETE", "", "configmaps"));
        assert!(asks(&["*"], "DELETE", "", "configmaps"));
        assert!(!asks(&["*"], "DELETE", "", "pods/status"));
        assert!(asks(&["pods/*"], "DELETE", "", "pods/status"));
        assert!(!asks(&["configmaps"], "UPDATE", "", "configmaps"));
        assert!(!asks(&["configmaps"], "DELETE", "apps", "configmaps"));
    }

    #[test]
    fn scope_excludes() {
        let asks = |scope: &str, namespaced: bool| {
            let mut webhook = webhook(&["*"]);
            webhook.rules[0].scope = scope.to_owned();
            !webhook.matching_versions("DELETE", "", ("things", "x"), namespaced).is_empty()
        };
        assert!(asks("*", true) && asks("", false));
        assert!(asks("Namespaced", true) && !asks("Namespaced", false));
        assert!(asks("Cluster", false) && !asks("Cluster", true));
    }

    #[test]
    fn selectors_match_as_the_server_matches_them() {
        let selector: Selector = serde_json::from_value(serde_json::json!({
            "matchLabels": {"a": "1"},
            "matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]
        }))
        .unwrap();
        let labels = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Texts>()
        };
        assert!(selector.matches(&labels(&[("a", "1")])));
        assert!(!selector.matches(&labels(&[("a", "1"), ("skip", "")])));
        assert!(!selector.matches(&labels(&[])));
    }
}

//! What goes wrong on purpose.

use serde::{Deserialize, Serialize};

/// Rules, of which the first that fits a request decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Faults {
    /// In the order in which they are tried.
    pub rules: Vec<Rule>,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// One rule more.
    pub fn and(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }
}

impl From<Rule> for Faults {
    fn from(rule: Rule) -> Self {
        Self::none().and(rule)
    }
}

/// Which requests get which fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// An HTTP method (`PATCH`) or a verb (`list`). Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// How the path begins. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only watches, or none of them. Default: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<bool>,
    /// After so many requests the rule is spent. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// What happens to them.
    #[serde(rename = "do")]
    pub fault: Fault,
}

impl Rule {
    /// Every request gets `fault`.
    pub fn new(fault: Fault) -> Self {
        Self { verb: None, path: None, watch: None, times: None, fault }
    }

    /// Only requests of this HTTP method (`PATCH`) or verb (`list`).
    pub fn verb(mut self, verb: &str) -> Self {
        self.verb = Some(verb.to_owned());
        self
    }

    /// Only requests whose path begins so.
    pub fn path(mut self, prefix: &str) -> Self {
        self.path = Some(prefix.to_owned());
        self
    }

    /// Only watches (`true`), or none of them.
    pub fn watch(mut self, watch: bool) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Only so many requests.
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    fn fits(&self, method: &str, verb: &str, path: &str) -> bool {
        let named = |wanted: &String| wanted.eq_ignore_ascii_case(method) || wanted.eq_ignore_ascii_case(verb);
        self.verb.as_ref().is_none_or(named)
            && self.path.as_ref().is_none_or(|prefix| path.starts_with(prefix))
            && self.watch.is_none_or(|watch| watch == (verb == "watch"))
    }
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fault {
    /// It is done, and the connection is closed in the middle of the answer.
    Cut,
    /// It is accepted and never answered; nothing is done.
    Silent,
    /// The answer is 200 with broken JSON.
    Nonsense,
    /// 410 Expired; a watch gets it as its first event.
    Gone,
    /// 403, as role based access control refuses.
    Forbidden,
    /// 401.
    Unauthorized,
    /// This HTTP status; nothing is done.
    #[serde(untagged, rename_all = "camelCase")]
    Status {
        /// 429, 500, 503 and so on.
        status: u16,
        /// Seconds, sent as `Retry-After`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
    },
    /// It is done, after this time.
    #[serde(untagged, rename_all = "camelCase")]
    Slow {
        /// Milliseconds.
        slow_ms: u64,
    },
}

/// Applies the rules and counts.
#[derive(Debug, Default)]
pub(crate) struct Injector {
    faults: Faults,
    spent: Vec<u32>,
}

impl Injector {
    pub(crate) fn new(faults: Faults) -> Self {
        let spent = vec![0; faults.rules.len()];
        Self { faults, spent }
    }

    /// The fault for a request, counted.
    pub(crate) fn next(&mut self, method: &str, verb: &str, path: &str) -> Option<Fault> {
        let rules = self.faults.rules.iter().zip(&mut self.spent);
        for (rule, spent) in rules {
            if rule.fits(method, verb, path) && rule.times.is_none_or(|times| *spent < times) {
                *spent += 1;
                return Some(rule.fault.clone());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_as_documented() {
        let text = r#"[{"verb":"PATCH","path":"/apis/events","times":3,"do":{"status":429,"retryAfter":2}},
            {"watch":true,"do":"gone"},{"do":{"slowMs":3000}},{"do":{"status":500}},{"do":"cut"}]"#;
        let faults: Faults = serde_json::from_str(text).unwrap();
        let wanted = Faults::none()
            .and(
                Rule::new(Fault::Status { status: 429, retry_after: Some(2) })
                    .verb("PATCH")
                    .path("/apis/events")
                    .times(3),
            )
            .and(Rule::new(Fault::Gone).watch(true))
            .and(Rule::new(Fault::Slow { slow_ms: 3000 }))
            .and(Rule::new(Fault::Status { status: 500, retry_after: None }))
            .and(Rule::new(Fault::Cut));
        assert_eq!(faults, wanted);
        let again: Faults = serde_json::from_str(&serde_json::to_string(&faults).unwrap()).unwrap();
        assert_eq!(again, faults);
        assert!(serde_json::from_str::<Faults>(r#"[{"do":"explode"}]"#).is_err());
        assert!(serde_json::from_str::<Faults>(r#"[{"verbs":"GET","do":"cut"}]"#).is_err());
    }

    #[test]
    fn the_first_rule_that_fits_and_is_not_spent_decides() {
        let mut injector = Injector::new(
            Faults::none().and(Rule::new(Fault::Cut).verb("list").times(1)).and(Rule::new(Fault::Silent).path("/api/")),
        );
        assert_eq!(injector.next("GET", "list", "/api/v1/pods"), Some(Fault::Cut));
        assert_eq!(injector.next("GET", "list", "/api/v1/pods"), Some(Fault::Silent));
        assert_eq!(injector.next("GET", "list", "/apis/x"), None);
    }
}

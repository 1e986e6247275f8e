//! What the namespace controller wrote into the conditions, taken apart.
//!
//! Its messages join errors with commas and the errors hold commas themselves, so they are scanned
//! for known patterns and never split.

use std::sync::LazyLock;

use findings::clean;
use regex::{Captures, Regex};

use super::leads::{self, Lead};
use super::{Message, pattern};

static DISCOVERY_HEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?s)^Discovery failed for some groups, (?P<n>[0-9]+) failing: (?:unable to retrieve the complete list of server APIs: )?(?P<rest>.*)$",
    )
});
static DISCOVERY_ITEM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|, )(?P<gv>[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/[a-z](?:[-a-z0-9]*[a-z0-9])?|v1): "));
static CONTENT_HEAD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)^Failed to delete all resource types, (?P<n>[0-9]+) remaining: (?P<rest>.*)$"));
static REMAINING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?P<resource>[a-z0-9-]+)\.(?P<group>[a-z0-9.-]*) has (?P<n>[0-9]+) resource instances"));

/// What discovery failed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryFailure {
    /// These groups and versions, each with the words it failed with.
    Groups(Vec<(String, String)>),
    Whole(String),
}

/// Reads `NamespaceDeletionDiscoveryFailure`.
pub fn discovery_failure(message: &Message) -> DiscoveryFailure {
    let message = message.0.as_str();
    let whole = || DiscoveryFailure::Whole(message.to_owned());
    let Some(rest) = DISCOVERY_HEAD.captures(message).and_then(|head| head.name("rest")) else { return whole() };
    let rest = rest.as_str();
    let items: Vec<Captures> = DISCOVERY_ITEM.captures_iter(rest).collect();
    let starts: Vec<usize> = items.iter().filter_map(|item| Some(item.get(0)?.start())).collect();
    let mut groups = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(rest.len());
        let (Some(all), Some(gv)) = (item.get(0), item.name("gv")) else { continue };
        groups.push((gv.as_str().to_owned(), rest.get(all.end()..end).unwrap_or_default().to_owned()));
    }
    if groups.is_empty() { whole() } else { DiscoveryFailure::Groups(groups) }
}

/// Reads `NamespaceDeletionContentFailure`; the same error for several resources is reported once.
pub fn content_failure(message: &Message) -> Vec<Lead> {
    let message = message.0.as_str();
    let head = CONTENT_HEAD.captures(message);
    let errors = head.as_ref().and_then(|head| head.name("n")?.as_str().parse().ok());
    let rest = head.as_ref().and_then(|head| head.name("rest")).map_or(message, |rest| rest.as_str());
    let (mut found, mut matched) = leads::scan(rest, Lead::is_of_deletion);
    // A decoder's error has no form of its own, so it is looked for last.
    if matched == 0
        && let Some((lead, count)) = leads::not_decodable(rest)
    {
        found.push(lead);
        matched = count;
    }
    if matched.max(found.len()) < errors.unwrap_or(1) {
        found.push(Lead::Unknown { text: rest.to_owned() });
    }
    found
}

/// The finalizers that hold something, from `NamespaceFinalizersRemaining`.
pub fn finalizers_remaining(message: &Message) -> Vec<String> {
    let said = message.0.split_once("finalizers remaining: ").map_or("", |(_, said)| said);
    let each = said.split(", ").filter_map(|one| one.split_once(" in "));
    each.map(|(finalizer, _)| clean(finalizer, 200)).filter(|finalizer| !finalizer.is_empty()).collect()
}

/// What remains, from `NamespaceContentRemaining`: plural, group and how many.
pub fn remaining(message: &Message) -> Vec<(String, String, usize)> {
    let read = |captures: Captures| {
        let part = |name: &str| captures.name(name).map_or("", |part| part.as_str());
        (part("resource").to_owned(), part("group").to_owned(), part("n").parse().unwrap_or(0))
    };
    REMAINING.captures_iter(&message.0).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recording::messages;
    use super::*;

    fn recorded(file: &str, condition: &str) -> Message {
        messages(&format!("objects/{file}"), condition).remove(0)
    }

    #[test]
    fn reads_every_dead_group() {
        let message = recorded("ns-discovery-failure.json", "NamespaceDeletionDiscoveryFailure");
        let DiscoveryFailure::Groups(groups) = discovery_failure(&message) else { panic!("no groups") };
        let names: Vec<&str> = groups.iter().map(|(gv, _)| gv.as_str()).collect();
        let dead = ["gone", "hole", "notready", "port"].map(|group| format!("{group}.example.com/v1"));
        assert_eq!(names, [&dead[0], &dead[1], "metrics.k8s.io/v1beta1", &dead[2], &dead[3]]);
        assert_eq!(groups[1].1, "stale GroupVersion discovery: hole.example.com/v1");
    }

    /// client-go: discovery/discovery_client.go, when not even `/api` answers.
    #[test]
    fn a_total_failure_names_no_group() {
        let text = "Get \"https://10.0.0.1:443/api\": dial tcp 10.0.0.1:443: connect: connection refused";
        assert_eq!(discovery_failure(&text.into()), DiscoveryFailure::Whole(text.to_owned()));
    }

    #[test]
    fn tells_errors_apart_and_the_same_once() {
        let message = recorded("ns-webhook-fail.json", "NamespaceDeletionContentFailure");
        let call = Lead::WebhookCall {
            webhook: "guard.lab.example.com".to_owned(),
            host: "guard-svc.mon.svc".to_owned(),
            error: "service \"guard-svc\" not found".to_owned(),
        };
        let denial = Lead::PolicyDenial {
            policy: "lab-vap".to_owned(),
            binding: "lab-vap".to_owned(),
            why: "service accounts are protected".to_owned(),
        };
        assert_eq!(content_failure(&message), [call, denial]);
    }

    /// A webhook's words may quote any error: it is not the API server's, and does not count as another one.
    #[test]
    fn an_error_that_a_webhook_quotes_is_the_webhooks() {
        let denied = "admission webhook \"guard.example.com\" denied the request: ";
        for quoted in [
            "etcdserver: leader changed",
            "failed calling webhook \"b.example.com\": failed to call webhook: Post \"https://b.b.svc:443/v\": EOF",
            "unable to transform key \"/registry/secrets/a/b\": no key",
            "the server has received too many requests",
        ] {
            let message =
                format!("Failed to delete all resource types, 2 remaining: {denied}{quoted}, zzz something new");
            let found = content_failure(&message.into());
            let [Lead::WebhookDenial { webhook, why }, Lead::Unknown { text }] = &found[..] else {
                panic!("{found:?}")
            };
            assert_eq!((webhook.as_str(), why.as_str()), ("guard.example.com", quoted));
            assert!(text.contains("zzz something new"), "{text}");
        }
    }

    #[test]
    fn reads_which_objects_remain() {
        let message = recorded("ns-a-ordered-pods-unexpected.json", "NamespaceDeletionContentFailure");
        let pods = Lead::Unexpected { group: String::new(), resource: "pods".to_owned() };
        assert_eq!(content_failure(&message), std::slice::from_ref(&pods));
        let more = message.to_string().replace("1 remaining: ", "2 remaining: something new, ");
        let found = content_failure(&more.into());
        assert_eq!(found[0], pods);
        assert!(matches!(&found[1], Lead::Unknown { text } if text.starts_with("something new")), "{found:?}");
    }

    #[test]
    fn reads_who_cannot_convert() {
        let found = content_failure(&recorded("ns-conversion-webhook.json", "NamespaceDeletionContentFailure"));
        assert!(matches!(found.as_slice(), [Lead::Conversion { kind, .. }] if kind == "Widget"), "{found:?}");
    }

    /// Printed by a 1.36 API server for a Secret and a custom resource (tests/e2e, `undecodable`).
    #[test]
    fn reads_that_objects_of_two_kinds_cannot_be_decoded() {
        let text = "Failed to delete all resource types, 2 remaining: proto: illegal wireType 7, storage is \
                    (re)initializing: failed to list broken.example.com/v1, Kind=Rotor: invalid character 'k' looking for \
                    beginning of value";
        let found = content_failure(&text.into());
        assert!(matches!(found.as_slice(), [Lead::NotDecodable { .. }]), "{found:?}");
        // An API's backend that answers HTML shows nothing of what is stored.
        let html =
            "Failed to delete all resource types, 1 remaining: invalid character '<' looking for beginning of value";
        let found = content_failure(&html.into());
        assert!(matches!(found.as_slice(), [Lead::Unknown { .. }]), "{found:?}");
    }

    /// Printed by a 1.36 API server, and not kept whole; where it stands in the source is said of each.
    #[test]
    fn reads_the_other_errors() {
        let one = |error: &str| {
            content_failure(&format!("Failed to delete all resource types, 1 remaining: {error}").into()).remove(0)
        };
        // apiserver: pkg/storage/etcd3/store.go.
        assert!(matches!(
            one("Internal error occurred: unable to transform key \"/registry/secrets/g1/bad\": identity transformer tried to read encrypted data"),
            Lead::NotDecryptable { key, .. } if key == "/registry/secrets/g1/bad"
        ));
        // Go: encoding/base64.
        assert!(matches!(one("illegal base64 data at input byte 3"), Lead::NotDecodable { .. }));
        assert!(matches!(one("etcdserver: mvcc: database space exceeded"), Lead::Etcd { .. }));
        // apimachinery: pkg/api/errors/errors.go, `NewForbidden` and `NewTooManyRequestsError`.
        assert!(matches!(
            one(
                "pods is forbidden: User \"system:serviceaccount:kube-system:namespace-controller\" cannot list resource \"pods\""
            ),
            Lead::Forbidden { .. }
        ));
        assert_eq!(
            one("the server has received too many requests and has asked us to try again later"),
            Lead::TooManyRequests
        );
        // apiserver: pkg/admission/plugin/webhook/errors/statuserror.go.
        assert!(matches!(
            one("admission webhook \"guard.example.com\" denied the request: protected"),
            Lead::WebhookDenial { why, .. } if why == "protected"
        ));
        // apiextensions-apiserver: pkg/apiserver/conversion/converter.go.
        assert!(matches!(
            one("request to convert CR from an invalid group/version: example.com/v1alpha1"),
            Lead::StoredVersion { group_version } if group_version == "example.com/v1alpha1"
        ));
    }

    #[test]
    fn reads_what_remains_and_what_holds_it() {
        let [resources, finalizers] = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]
            .map(|condition| recorded("ns-b.json", condition));
        let many = |plural: &str, group: &str, many| (plural.to_owned(), group.to_owned(), many);
        assert_eq!(
            remaining(&resources),
            [many("configmaps", "", 2), many("deployments", "apps", 1), many("secrets", "", 1)]
        );
        assert_eq!(finalizers_remaining(&finalizers), ["example.com/hold", "zzz.example.com/hold"]);
    }
}

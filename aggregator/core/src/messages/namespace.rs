//! What the namespace controller wrote into the conditions, taken apart.
//!
//! Its messages join errors with commas and the errors hold commas themselves, so they are scanned
//! for known patterns and never split.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::LazyLock;

use findings::clean;
use regex::{Captures, Regex};

use super::Message;
use super::errors::{self, Etcd};

#[expect(clippy::expect_used, reason = "a constant of this file; a test reads each of them")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file")
}

static DISCOVERY_HEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?s)^Discovery failed for some groups, (?P<n>[0-9]+) failing: (?:unable to retrieve the complete list of server APIs: )?(?P<rest>.*)$",
    )
});
static DISCOVERY_ITEM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|, )(?P<gv>[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/[a-z](?:[-a-z0-9]*[a-z0-9])?|v1): "));
static CONTENT_HEAD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)^Failed to delete all resource types, (?P<n>[0-9]+) remaining: (?P<rest>.*)$"));
static UNEXPECTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"unexpected items still remain in namespace: (?P<ns>[a-z0-9-]+) for gvr: (?P<group>[a-z0-9.-]*)/(?P<version>[a-z0-9-]+), Resource=(?P<resource>[a-z0-9-]+)",
    )
});
static WEBHOOK_CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"failed calling webhook "(?P<webhook>[^"]+)": (?:failed to call webhook: )?(?:Post|post) "?https://(?P<host>[^/":?]+)(?::[0-9]+)?(?:/[^"?: ]*)?(?:\?[^": ]*)?"?: (?P<err>[^,]+)"#,
    )
});
static WEBHOOK_DENIAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"admission webhook "(?P<webhook>[^"]+)" denied the request(?:: (?P<why>[^,]+)| without explanation)"#)
});
static POLICY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding '(?P<binding>[^']+)' denied request: (?P<why>[^,]+)",
    )
});
static CONVERSION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"conversion webhook for (?P<group>[a-z0-9.-]+)/(?P<version>[a-z0-9-]+), Kind=(?P<kind>[A-Za-z0-9]+) (?:failed|returned [^:]+): (?P<err>[^,]+)",
    )
});
static NOT_DECRYPTABLE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"unable to transform key "(?P<key>/[^"]+)": (?P<err>[^,]+)"#));
static ETCD: LazyLock<Regex> = LazyLock::new(|| pattern(r"etcdserver: (?P<err>[a-z: ]+)"));
static CONTROLLER_FORBIDDEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"User "system:serviceaccount:kube-system:namespace-controller" cannot (?P<why>[^,]+)"#));
static TOO_MANY: LazyLock<Regex> = LazyLock::new(|| pattern(r"the server has received too many requests"));
static NOT_DECODABLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"illegal base64 data at input byte|illegal tag|unexpected EOF|proto: |converting \(.*\) to|couldn't get version/kind",
    )
});
static STORED_VERSION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"request to convert CR from an invalid group/version: (?P<gv>[^,]+)"));
static REMAINING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?P<resource>[a-z0-9-]+)\.(?P<group>[a-z0-9.-]*) has (?P<n>[0-9]+) resource instances"));

/// Something the namespace controller ran into while deleting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Objects remain that should be gone.
    Unexpected { group: String, resource: String },
    /// A webhook could not be called.
    WebhookCall { webhook: String, host: String, error: String },
    /// A webhook said no.
    WebhookDenial { webhook: String, why: String },
    /// A ValidatingAdmissionPolicy said no.
    PolicyDenial { policy: String, binding: String, why: String },
    /// A conversion webhook could not be called, or failed.
    Conversion { group: String, kind: String, error: String },
    /// An object cannot be decrypted.
    NotDecryptable { key: String, error: String },
    /// An object cannot be decoded.
    NotDecodable { error: String },
    /// Objects are stored in a version that is not served.
    StoredVersion { group_version: String },
    /// etcd refuses.
    Etcd { fault: Etcd, error: String },
    /// RBAC refuses.
    Forbidden { why: String },
    /// Priority and fairness refuses.
    TooManyRequests,
    /// No pattern matched all of it.
    Unknown { text: String },
}

/// What discovery failed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryFailure {
    /// These groups and versions, each with the words it failed with.
    Groups(Vec<(String, String)>),
    /// All of it.
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

/// Reads `NamespaceDeletionContentFailure`; the same error for several resources is told once.
pub fn content_failure(message: &Message) -> Vec<Obstacle> {
    let message = message.0.as_str();
    let head = CONTENT_HEAD.captures(message);
    let errors = head.as_ref().and_then(|head| head.name("n")?.as_str().parse().ok());
    let rest = head.as_ref().and_then(|head| head.name("rest")).map_or(message, |rest| rest.as_str());
    let mut scan = Scan { text: rest, matches: Vec::new() };
    scan.each(&UNEXPECTED, |it| Obstacle::Unexpected { group: part(it, "group"), resource: part(it, "resource") });
    scan.each(&WEBHOOK_CALL, |it| Obstacle::WebhookCall {
        webhook: part(it, "webhook"),
        host: part(it, "host"),
        error: part(it, "err"),
    });
    scan.each(&WEBHOOK_DENIAL, |it| Obstacle::WebhookDenial { webhook: part(it, "webhook"), why: part(it, "why") });
    scan.each(&POLICY, |it| Obstacle::PolicyDenial {
        policy: part(it, "policy"),
        binding: part(it, "binding"),
        why: part(it, "why"),
    });
    scan.each(&CONVERSION, |it| Obstacle::Conversion {
        group: part(it, "group"),
        kind: part(it, "kind"),
        error: part(it, "err"),
    });
    scan.each(&STORED_VERSION, |it| Obstacle::StoredVersion { group_version: part(it, "gv") });
    scan.each(&NOT_DECRYPTABLE, |it| Obstacle::NotDecryptable { key: part(it, "key"), error: part(it, "err") });
    scan.each(&ETCD, |it| Obstacle::Etcd { fault: etcd(it), error: part(it, "err") });
    scan.each(&CONTROLLER_FORBIDDEN, |it| Obstacle::Forbidden { why: part(it, "why") });
    scan.each(&TOO_MANY, |_| Obstacle::TooManyRequests);
    if scan.matches.is_empty() {
        // A decoder's error has no form of its own, so it is looked for last.
        scan.each(&NOT_DECODABLE, |_| Obstacle::NotDecodable { error: rest.to_owned() });
    }
    let all = scan.outermost();
    let matched = all.len();
    let mut found: Vec<Obstacle> = Vec::new();
    for obstacle in all {
        if !found.contains(&obstacle) {
            found.push(obstacle);
        }
    }
    if matched < errors.unwrap_or(1) {
        found.push(Obstacle::Unknown { text: rest.to_owned() });
    }
    found
}

struct Scan<'a> {
    text: &'a str,
    /// Each with where it stands.
    matches: Vec<(Range<usize>, Obstacle)>,
}

impl Scan<'_> {
    fn each(&mut self, pattern: &Regex, read: impl Fn(&Captures) -> Obstacle) {
        for captures in pattern.captures_iter(self.text) {
            self.matches.extend(captures.get(0).map(|all| (all.range(), read(&captures))));
        }
    }

    /// Those that no other one quotes, in their order: what a webhook or a policy says may hold any words.
    fn outermost(mut self) -> Vec<Obstacle> {
        self.matches.sort_by_key(|(at, _)| (at.start, Reverse(at.end)));
        let mut end = 0;
        let mut found = Vec::new();
        for (at, obstacle) in self.matches {
            if at.start >= end {
                end = at.end;
                found.push(obstacle);
            }
        }
        found
    }
}

fn etcd(captures: &Captures) -> Etcd {
    errors::etcd(&Message::from(&captures[0])).unwrap_or(Etcd::NotResponding)
}

fn part(captures: &Captures, name: &str) -> String {
    captures.name(name).map_or(String::new(), |part| part.as_str().trim().to_owned())
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
        let call = Obstacle::WebhookCall {
            webhook: "guard.lab.example.com".to_owned(),
            host: "guard-svc.mon.svc".to_owned(),
            error: "service \"guard-svc\" not found".to_owned(),
        };
        let denial = Obstacle::PolicyDenial {
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
            let [Obstacle::WebhookDenial { webhook, why }, Obstacle::Unknown { text }] = &found[..] else {
                panic!("{found:?}")
            };
            assert_eq!((webhook.as_str(), why.as_str()), ("guard.example.com", quoted));
            assert!(text.contains("zzz something new"), "{text}");
        }
    }

    #[test]
    fn reads_which_objects_remain() {
        let message = recorded("ns-a-ordered-pods-unexpected.json", "NamespaceDeletionContentFailure");
        let pods = Obstacle::Unexpected { group: String::new(), resource: "pods".to_owned() };
        assert_eq!(content_failure(&message), std::slice::from_ref(&pods));
        let more = message.to_string().replace("1 remaining: ", "2 remaining: something new, ");
        let found = content_failure(&more.into());
        assert_eq!(found[0], pods);
        assert!(matches!(&found[1], Obstacle::Unknown { text } if text.starts_with("something new")), "{found:?}");
    }

    #[test]
    fn reads_who_cannot_convert() {
        let found = content_failure(&recorded("ns-conversion-webhook.json", "NamespaceDeletionContentFailure"));
        assert!(matches!(found.as_slice(), [Obstacle::Conversion { kind, .. }] if kind == "Widget"), "{found:?}");
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
            Obstacle::NotDecryptable { key, .. } if key == "/registry/secrets/g1/bad"
        ));
        // Go: encoding/base64.
        assert!(matches!(one("illegal base64 data at input byte 3"), Obstacle::NotDecodable { .. }));
        assert!(matches!(
            one("etcdserver: mvcc: database space exceeded"),
            Obstacle::Etcd { fault: Etcd::SpaceExceeded, .. }
        ));
        // apimachinery: pkg/api/errors/errors.go, `NewForbidden` and `NewTooManyRequestsError`.
        assert!(matches!(
            one(
                "pods is forbidden: User \"system:serviceaccount:kube-system:namespace-controller\" cannot list resource \"pods\""
            ),
            Obstacle::Forbidden { .. }
        ));
        assert_eq!(
            one("the server has received too many requests and has asked us to try again later"),
            Obstacle::TooManyRequests
        );
        // apiserver: pkg/admission/plugin/webhook/errors/statuserror.go.
        assert!(matches!(
            one("admission webhook \"guard.example.com\" denied the request: protected"),
            Obstacle::WebhookDenial { why, .. } if why == "protected"
        ));
        // apiextensions-apiserver: pkg/apiserver/conversion/converter.go.
        assert!(matches!(
            one("request to convert CR from an invalid group/version: example.com/v1alpha1"),
            Obstacle::StoredVersion { group_version } if group_version == "example.com/v1alpha1"
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

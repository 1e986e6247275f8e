//! What a sentence names as being in the way, whatever quotes it: a condition, an Event, an error of a request.
//!
//! A lead is a question, never a proof: who may write an object's status may write any sentence.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Message, pattern};
use crate::resource::Resource;
use crate::state::Scope;

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
/// apimachinery: pkg/api/errors/errors.go, `NewForbidden`; apiserver: pkg/endpoints/handlers/responsewriters/errors.go.
static FORBIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"User "(?P<user>[^"]+)" cannot (?P<why>(?P<verb>[a-z]+)(?: resource "(?P<resource>[^"/]+)(?:/(?P<part>[^"]+))?" in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<ns>[^"]+)"|(?P<all> at the cluster scope))?[^,]*)"#,
    )
});
static TOO_MANY: LazyLock<Regex> = LazyLock::new(|| pattern(r"the server has received too many requests"));
static NOT_DECODABLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"illegal base64 data at input byte|illegal tag|unexpected EOF|proto: |converting \(.*\) to|couldn't get version/kind|, Kind=\w+: invalid character '",
    )
});
static STORED_VERSION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"request to convert CR from an invalid group/version: (?P<gv>[^,]+)"));
/// client-go: discovery/discovery_client.go, `ErrGroupDiscoveryFailed`.
static STALE_API: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"unable to retrieve the complete list of server APIs: (?P<group>[a-z0-9.-]+)/(?P<version>v[a-z0-9]+): ")
});
/// apimachinery: pkg/api/errors/errors.go, `NewGenericServerResponse` for 503.
static API_WITHOUT_ANSWER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"the server is currently unable to handle the request \([a-z]+ (?P<resource>[a-z0-9-]+)\.(?P<group>[a-z0-9.-]+)[ )]",
    )
});
/// apimachinery: pkg/api/meta/errors.go, `NoKindMatchError` and `NoResourceMatchError`.
static NO_KIND: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"no matches for kind "(?P<kind>[A-Za-z0-9]+)" in version "(?P<gv>[a-z0-9./-]+)""#));
/// A request to a Service by its name, which Go's client quotes with its error (Go: net/http/client.go, `url.Error`).
static SERVICE_CALL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"https?://(?P<service>[a-z0-9-]+)\.(?P<ns>[a-z0-9-]+)(?:\.svc)(?:\.cluster\.local)?\.?(?::[0-9]+)?(?:/[^"': ]*)?["']?: (?P<err>[^,]+)"#,
    )
});
/// apimachinery: pkg/api/errors/errors.go, `NewNotFound`; controllers of storage write the others in words of their own. A word
/// after "node" is a name where it is quoted or has a digit.
static NODE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\b[Nn]odes? (?:['"\x60](?P<quoted>[a-z0-9.-]+)['"\x60]|(?P<plain>[a-z0-9.-]*[0-9](?:[a-z0-9.-]*[a-z0-9])?)) (?:(?:is|was) )?(?:not found|does not exist|not ready|NotReady|unreachable|down\b|offline)"#,
    )
});
/// apimachinery: pkg/api/errors/errors.go, `NewNotFound`; clients for one type name it by its kind (controller-runtime:
/// pkg/client, typed and unstructured).
static NOT_FOUND: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:\bin (?:the )?namespace ['"]?(?P<ns>[a-z0-9-]+)['"]?: )?\b(?P<kind>[A-Za-z]+)(?:\.(?P<group>[a-z0-9.-]+))? "(?:(?P<own>[a-z0-9-]+)/)?(?P<name>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)" not found"#,
    )
});
/// rancher: pkg/controllers/capr; cluster-api and others write it in much the same words. Some name the kind only.
static WAITING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\b[Ww]aiting (?:for|on) (?:the |all |its )*(?P<kind>[A-Za-z]+)(?: [\["']?(?P<name>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)[\]"']?)? (?:to (?:be )?(?:deleted?|removed?|terminated?|finalized?)\b|deletion\b|removal\b)"#,
    )
});
/// crossplane: internal/controller/protection/usage, and apiextensions/usage before.
static WAITING_FOR_USER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"[Ww]aiting for the using resource \(which is an? "(?P<kind>[A-Za-z]+)" named "(?P<name>[a-z0-9.-]+)"\) to be deleted"#,
    )
});
static NAMESPACE_GONE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"namespaces "(?P<name>[a-z0-9-]+)" not found"#));
/// kubernetes: pkg/registry/core/pod/storage/eviction.go, `checkAndDecrement`.
static BUDGET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:pods/"(?P<pod>[a-z0-9.-]+)"(?: -n "(?P<ns>[a-z0-9-]+)")?: |Pod (?P<of>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+): )?[Cc]annot evict pod as it would violate the pod's disruption budget\.(?: The disruption budget (?P<budget>[a-z0-9.-]+) needs)?"#,
    )
});

/// A request that took too long (Go: net/http, context; golang.org/x/net/http2; apiserver: pkg/endpoints/handlers/finisher).
static TIMED_OUT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"stream error: stream ID [0-9]+; INTERNAL_ERROR[^,]*|context deadline exceeded|Client\.Timeout exceeded[^,]*|request did not complete within[^,]*|the server was unable to return a response in the time allotted(, but may still be processing the request)?",
    )
});

/// What a sentence names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
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
    Etcd { error: String },
    /// RBAC refuses, or the server of an aggregated API does. The scope is that of whole objects: a part of one, which
    /// other rights open, has none.
    Forbidden { user: String, why: String, to: Option<(String, Resource)>, scope: Option<Scope> },
    /// Priority and fairness refuses.
    TooManyRequests,
    /// An aggregated API does not answer.
    Api { group: String, version: Option<String> },
    /// A kind is not served.
    NoKind { group: String, version: String, kind: String },
    /// A Service could not be called.
    ServiceCall { namespace: String, service: String, error: String },
    /// An object does not exist: its kind, or the plural of that, as it is written, and its namespace where that is.
    NotFound { group: String, kind: String, name: String, namespace: Option<String> },
    /// An object is waited for that is being deleted; where it has no name, those of its kind.
    Waiting { kind: String, name: String },
    /// A namespace does not exist.
    NamespaceGone { name: String },
    /// A node is gone, or does not work.
    Node { name: String },
    /// A budget allows no eviction of a pod.
    Budget { pod: Option<(Option<String>, String)>, budget: Option<String> },
    /// A request took too long.
    TimedOut { error: String },
    /// No pattern matched all of it.
    Unknown { text: String },
}

/// More bytes of a sentence are not read: its author may be a tenant.
const MAX_BYTES: usize = 16 << 10;

/// All that a sentence names, each once.
pub fn read(message: &Message) -> Vec<Lead> {
    let end = message.0.floor_char_boundary(MAX_BYTES);
    // An error within an error has its quotes escaped.
    scan(&message.0[..end].replace("\\\"", "\""), |_| true).0
}

impl Lead {
    /// Whether the namespace controller may run into it; the others are a controller's of a finalizer.
    pub fn is_of_deletion(&self) -> bool {
        !matches!(
            self,
            Lead::NoKind { .. }
                | Lead::ServiceCall { .. }
                | Lead::NotFound { .. }
                | Lead::Waiting { .. }
                | Lead::NamespaceGone { .. }
                | Lead::Node { .. }
                | Lead::Budget { .. }
        )
    }
}

/// The same of those that are wanted, and how often something was named.
pub fn scan(text: &str, is_wanted: impl Fn(&Lead) -> bool) -> (Vec<Lead>, usize) {
    let mut scan = Scan { text, matches: Vec::new() };
    scan.each(&UNEXPECTED, |it| Lead::Unexpected { group: part(it, "group"), resource: part(it, "resource") });
    scan.each(&WEBHOOK_CALL, |it| Lead::WebhookCall {
        webhook: part(it, "webhook"),
        host: part(it, "host"),
        error: part(it, "err"),
    });
    scan.each(&WEBHOOK_DENIAL, |it| Lead::WebhookDenial { webhook: part(it, "webhook"), why: part(it, "why") });
    scan.each(&POLICY, |it| Lead::PolicyDenial {
        policy: part(it, "policy"),
        binding: part(it, "binding"),
        why: part(it, "why"),
    });
    scan.each(&CONVERSION, |it| Lead::Conversion {
        group: part(it, "group"),
        kind: part(it, "kind"),
        error: part(it, "err"),
    });
    scan.each(&STORED_VERSION, |it| Lead::StoredVersion { group_version: part(it, "gv") });
    scan.each(&NOT_DECRYPTABLE, |it| Lead::NotDecryptable { key: part(it, "key"), error: part(it, "err") });
    scan.each(&ETCD, |it| Lead::Etcd { error: part(it, "err") });
    scan.each(&FORBIDDEN, forbidden);
    scan.each(&TOO_MANY, |_| Lead::TooManyRequests);
    scan.each(&STALE_API, |it| Lead::Api { group: part(it, "group"), version: Some(part(it, "version")) });
    scan.each(&API_WITHOUT_ANSWER, |it| Lead::Api { group: part(it, "group"), version: None });
    scan.each(&NO_KIND, no_kind);
    scan.each(&SERVICE_CALL, |it| Lead::ServiceCall {
        namespace: part(it, "ns"),
        service: part(it, "service"),
        error: part(it, "err"),
    });
    scan.each(&NODE, |it| Lead::Node { name: part(it, "quoted") + &part(it, "plain") });
    scan.each(&NAMESPACE_GONE, |it| Lead::NamespaceGone { name: part(it, "name") });
    scan.each(&BUDGET, budget);
    // After those that are read more closely.
    scan.each(&NOT_FOUND, |it| Lead::NotFound {
        group: part(it, "group"),
        kind: part(it, "kind"),
        name: part(it, "name"),
        namespace: it.name("own").or(it.name("ns")).map(|namespace| namespace.as_str().to_owned()),
    });
    for pattern in [&WAITING_FOR_USER, &WAITING] {
        scan.each(pattern, |it| Lead::Waiting { kind: part(it, "kind"), name: part(it, "name") });
    }
    scan.each(&TIMED_OUT, |it| Lead::TimedOut { error: it[0].trim().to_owned() });
    scan.matches.retain(|(_, lead)| is_wanted(lead));
    let all = scan.outermost();
    let matched = all.len();
    let mut found: Vec<Lead> = Vec::new();
    for lead in all {
        if !found.contains(&lead) {
            found.push(lead);
        }
    }
    (found, matched)
}

/// A sentence of decoders' errors, which have no form of their own, and how many it holds.
pub fn not_decodable(text: &str) -> Option<(Lead, usize)> {
    let count = NOT_DECODABLE.find_iter(text).count();
    (count > 0).then(|| (Lead::NotDecodable { error: text.to_owned() }, count))
}

struct Scan<'a> {
    text: &'a str,
    /// Each with where it stands.
    matches: Vec<(Range<usize>, Lead)>,
}

impl Scan<'_> {
    fn each(&mut self, pattern: &Regex, read: impl Fn(&Captures) -> Lead) {
        for captures in pattern.captures_iter(self.text) {
            self.matches.extend(captures.get(0).map(|all| (all.range(), read(&captures))));
        }
    }

    /// Those that no other one quotes, in their order: what a webhook or a policy says may hold any words.
    fn outermost(mut self) -> Vec<Lead> {
        self.matches.sort_by_key(|(at, _)| (at.start, Reverse(at.end)));
        let mut end = 0;
        let mut found = Vec::new();
        for (at, lead) in self.matches {
            if at.start >= end {
                end = at.end;
                found.push(lead);
            }
        }
        found
    }
}

fn forbidden(captures: &Captures) -> Lead {
    let some = |name: &str| captures.name(name).map(|part| part.as_str().to_owned());
    let to =
        some("resource").map(|plural| (part(captures, "verb"), Resource::new(part(captures, "group"), "", plural)));
    let scope = some("ns").map(Scope::Namespace).or(some("all").map(|_| Scope::All));
    let scope = scope.filter(|_| captures.name("part").is_none());
    Lead::Forbidden { user: part(captures, "user"), why: part(captures, "why"), to, scope }
}

fn no_kind(captures: &Captures) -> Lead {
    let all = part(captures, "gv");
    let (group, version) = all.split_once('/').unwrap_or(("", &all));
    Lead::NoKind { group: group.to_owned(), version: version.to_owned(), kind: part(captures, "kind") }
}

fn budget(captures: &Captures) -> Lead {
    let some = |name: &str| captures.name(name).map(|part| part.as_str().to_owned());
    // kubectl's drain, and that of Cluster API (cluster-api: internal/controllers/machine/drain/drain.go).
    let pod = some("pod").map(|pod| (some("ns"), pod)).or(some("name").map(|pod| (some("of"), pod)));
    Lead::Budget { pod, budget: some("budget") }
}

fn part(captures: &Captures, name: &str) -> String {
    captures.name(name).map_or(String::new(), |part| part.as_str().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(text: &str) -> Vec<Lead> {
        read(&text.into())
    }

    /// tektoncd/operator#3472.
    #[test]
    fn a_webhook_that_a_controllers_condition_names() {
        let found = leads(
            "Failed to finalize platform resources failed to update namespace default: Internal error occurred: failed calling \
             webhook \"namespace.operator.tekton.dev\": failed to call webhook: Post \
             \"https://tekton-operator-proxy-webhook.openshift-pipelines.svc:443/namespace-validation?timeout=10s\": service \
             \"tekton-operator-proxy-webhook\" not found",
        );
        let [Lead::WebhookCall { webhook, host, error }] = &found[..] else { panic!("{found:?}") };
        assert_eq!(webhook, "namespace.operator.tekton.dev");
        assert_eq!(host, "tekton-operator-proxy-webhook.openshift-pipelines.svc");
        assert_eq!(error, "service \"tekton-operator-proxy-webhook\" not found");
    }

    #[test]
    fn what_else_a_controller_may_run_into() {
        let service = "Get \"https://store.data.svc.cluster.local:8443/api/v1/x?y=1\": dial tcp 10.96.0.9:8443: connect: connection refused";
        let expected = Lead::ServiceCall {
            namespace: "data".to_owned(),
            service: "store".to_owned(),
            error: "dial tcp 10.96.0.9:8443: connect: connection refused".to_owned(),
        };
        assert_eq!(leads(service), [expected]);
        let kind = "failed to get restmapping: no matches for kind \"Certificate\" in version \"cert-manager.io/v1\"";
        let expected =
            Lead::NoKind { group: "cert-manager.io".into(), version: "v1".into(), kind: "Certificate".into() };
        assert_eq!(leads(kind), [expected]);
        let stale =
            "unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale GroupVersion discovery";
        assert_eq!(leads(stale), [Lead::Api { group: "metrics.k8s.io".into(), version: Some("v1beta1".into()) }]);
        let silent = "the server is currently unable to handle the request (get gadgets.metrics.example.com g1)";
        assert_eq!(leads(silent), [Lead::Api { group: "metrics.example.com".into(), version: None }]);
        let gone = "error executing pre-delete hooks: namespaces \"zookeeper-operator\" not found";
        assert_eq!(leads(gone), [Lead::NamespaceGone { name: "zookeeper-operator".into() }]);
        let not_found = |group: &str, kind: &str, name: &str| {
            [Lead::NotFound { group: group.into(), kind: kind.into(), name: name.into(), namespace: None }]
        };
        let account = "reconcile failed: ServiceAccount \"deployer\" not found";
        assert_eq!(leads(account), not_found("", "ServiceAccount", "deployer"));
        let config = "cannot get referenced ProviderConfig: ProviderConfig.aws.upbound.io \"prod\" not found";
        assert_eq!(leads(config), not_found("aws.upbound.io", "ProviderConfig", "prod"));
        let secret = "error getting route53 provider: secrets \"route53\" not found";
        assert_eq!(leads(secret), not_found("", "secrets", "route53"));
        let with_namespace = "error getting secret key in namespace storage: secrets \"key\" not found";
        let [Lead::NotFound { namespace, .. }] = &leads(with_namespace)[..] else { panic!("{with_namespace}") };
        assert_eq!(namespace.as_deref(), Some("storage"));
        let secret = "credential secret \"team-a/aso-credential\" not found";
        let expected = Lead::NotFound {
            group: String::new(),
            kind: "secret".into(),
            name: "aso-credential".into(),
            namespace: Some("team-a".into()),
        };
        assert_eq!(leads(secret), [expected]);
        let waits = |kind: &str, name: &str| [Lead::Waiting { kind: kind.into(), name: name.into() }];
        assert_eq!(leads("uninstall: Waiting for CephCluster to be deleted"), waits("CephCluster", ""));
        let using = "Waiting for the using resource (which is a \"XBucket\" named \"my-bucket-1\") to be deleted.";
        assert_eq!(leads(using), waits("XBucket", "my-bucket-1"));
        for waiting in ["waiting for machine [w-1] to delete", "Waiting for Machine w-1 to be deleted"] {
            let [Lead::Waiting { kind, name }] = &leads(waiting)[..] else { panic!("{waiting}") };
            assert_eq!((kind.to_lowercase().as_str(), name.as_str()), ("machine", "w-1"));
        }
    }

    #[test]
    fn a_node_that_is_gone_or_does_not_work() {
        for (text, name) in [
            ("failed to detach disk: nodes \"node-b\" not found", "node-b"),
            (
                "rpc error: code = NotFound desc = Node ip-10-0-1-7.ec2.internal does not exist",
                "ip-10-0-1-7.ec2.internal",
            ),
            ("volume cannot be detached: node 'node-b' is not ready", "node-b"),
            ("the node node-7 is down: engine image is not deployed", "node-7"),
        ] {
            assert_eq!(leads(text), [Lead::Node { name: name.to_owned() }], "{text}");
        }
        for text in [
            "3 nodes are not ready",
            "node is not ready",
            "waiting for the node to be ready",
            "node pool unreachable",
            "node affinity not found",
        ] {
            assert_eq!(leads(text), [], "{text}");
        }
    }

    #[test]
    fn who_may_not_do_what() {
        let found = leads(
            "widgets.example.com \"w\" is forbidden: User \"system:serviceaccount:ops:op\" cannot patch resource \
             \"widgets/status\" in API group \"example.com\" in the namespace \"a\"",
        );
        let [Lead::Forbidden { user, to: Some((verb, resource)), .. }] = &found[..] else { panic!("{found:?}") };
        assert_eq!((user.as_str(), verb.as_str()), ("system:serviceaccount:ops:op", "patch"));
        assert_eq!(resource.for_kubectl(), "widgets.example.com");
    }

    #[test]
    fn a_budget_with_the_pod_and_without() {
        let words = "Cannot evict pod as it would violate the pod's disruption budget.";
        assert_eq!(leads(words), [Lead::Budget { pod: None, budget: None }]);
        let named = format!(
            "error when evicting pods/\"db-0\" -n \"shop\": {words} The disruption budget db needs 1 healthy pods"
        );
        let pod = Some((Some("shop".to_owned()), "db-0".to_owned()));
        assert_eq!(leads(&named), [Lead::Budget { pod, budget: Some("db".to_owned()) }]);
    }

    #[test]
    fn ordinary_words_name_nothing() {
        for text in ["", "bucket is not empty", "3 VMs exist", "see https://example.com/docs: there", "User \"x\" left"]
        {
            assert_eq!(leads(text), [], "{text}");
        }
    }
}

//! Errors of the API server and of controllers.

use std::collections::{BTreeMap, BTreeSet};

use findings::{clean, quote_for_shell};

use super::Message;
use crate::resource::{ObjectRef, Resource};

/// Whether an error comes from etcd.
pub fn is_of_etcd(message: &Message) -> bool {
    message.has("etcdserver: ")
}

/// Whether this very object was refused as not valid, a 422: operators call what they make as the object. A finalizer that is
/// added during the deletion says nothing of the object (kubernetes: apimachinery/pkg/api/validation/objectmeta.go,
/// `ValidateObjectMetaAccessorUpdate`).
pub fn is_invalid(message: &Message, object: &ObjectRef) -> bool {
    let ObjectRef { kind, resource, name, .. } = object;
    let group = if resource.group.is_empty() { String::new() } else { format!(".{}", resource.group) };
    let refused = format!("{kind}{group} \"{name}\" is invalid");
    let of_controller = format!("{refused}: metadata.finalizers: Forbidden: no new finalizers can be added");
    // A webhook may write its own refusal so: the schema has nothing against the object then.
    let is_of_server =
        |before: &str| !before.ends_with(char::is_alphanumeric) && !before.contains("admission webhook \"");
    let all = message.0.match_indices(&refused).filter(|(at, _)| is_of_server(&message.0[..*at]));
    all.into_iter().any(|(at, _)| !message.0[at..].starts_with(&of_controller))
}

/// Whether the API server's cache of a kind is not ready, so that no client can list it for the moment (kubernetes:
/// staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go).
pub fn is_cache_starting(message: &Message) -> bool {
    message.has("storage is (re)initializing")
}

/// Whether a call failed because nothing is behind a Service (kubernetes: apiserver/pkg/util/proxy/proxy.go,
/// `ResolveEndpoint` and `ResolveCluster`): once something is, it is wrong.
pub fn is_backend_missing(error: &str) -> bool {
    error.contains("not found") || error.contains("no endpoints available for service")
}

/// Whether a call failed at the other one's certificate (Go: crypto/x509/verify.go, crypto/tls/common.go).
pub fn is_certificate(error: &str) -> bool {
    error.contains("x509:") || error.contains("tls: failed to verify certificate")
}

/// Whether something could not be made because its namespace is being deleted.
pub fn is_namespace_terminating(message: &Message) -> bool {
    message.has("because it is being terminated")
}

/// Whether the scheduler found no node because volumes can be used on others only.
pub fn is_volume_node_affinity_conflict(message: &Message) -> bool {
    message.has("volume node affinity conflict") || message.has("didn't match PersistentVolume's node affinity")
}

/// The service account that a request was refused to: its namespace and name.
pub fn refused_account(message: &Message) -> Option<(&str, &str)> {
    let (_, rest) = message.0.split_once("User \"system:serviceaccount:")?;
    let (account, rest) = rest.split_once('"')?;
    account.split_once(':').filter(|_| rest.starts_with(" cannot "))
}

/// What the caller may not do, as the API server says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// `list`.
    pub verb: String,
    /// `pods`, `widgets.example.com`.
    pub resource: String,
    /// In which namespace; none for all of them.
    pub namespace: Option<String>,
}

impl Refusal {
    /// Reads the API server's words.
    pub fn read(words: &str) -> Option<Refusal> {
        let (_, rest) = words.split_once(" cannot ")?;
        let (verb, rest) = rest.split_once(" resource \"")?;
        let (plural, rest) = rest.split_once("\" in API group \"")?;
        let (group, rest) = rest.split_once('"')?;
        let namespace = rest.split_once("in the namespace \"").and_then(|(_, rest)| rest.split_once('"'));
        let resource = Resource::new(group.to_owned(), "", plural.to_owned()).for_kubectl();
        Some(Refusal { verb: verb.to_owned(), resource, namespace: namespace.map(|(name, _)| name.to_owned()) })
    }

    /// The command that asks for this right.
    pub fn command(&self) -> Option<String> {
        let Refusal { verb, resource, namespace } = self;
        let word = |text: &str| quote_for_shell(text);
        let at = match namespace {
            Some(namespace) => format!("-n {}", word(namespace)?),
            None => "-A".to_owned(),
        };
        Some(format!("kubectl auth can-i {} {} {at}", word(verb)?, word(resource)?))
    }

    /// Several in words: `no permission to list nodes, pods (all namespaces)`.
    pub fn words(all: &BTreeSet<Refusal>) -> String {
        let mut rights: BTreeMap<(&str, Option<&str>), Vec<&str>> = BTreeMap::new();
        for Refusal { verb, resource, namespace } in all {
            rights.entry((verb, namespace.as_deref())).or_default().push(resource);
        }
        let each = rights.into_iter().map(|((verb, namespace), resources)| {
            let at = namespace.map_or("all namespaces".to_owned(), |namespace| format!("namespace {namespace}"));
            format!("{verb} {} ({at})", resources.join(", "))
        });
        clean(&format!("no permission to {}", each.collect::<Vec<_>>().join("; ")), 400)
    }

    /// The one command that shows of several whether the caller has them.
    pub fn check(all: &BTreeSet<Refusal>) -> Option<String> {
        let first = all.first()?;
        if all.len() == 1 {
            return first.command();
        }
        match first.namespace.as_deref().and_then(quote_for_shell) {
            Some(namespace) => Some(format!("kubectl auth can-i --list -n {namespace}")),
            None => Some("kubectl auth can-i --list".to_owned()),
        }
    }
}

/// Whether a storage answers that what is to be deleted or detached is not there (any more): gRPC's code, the codes of clouds,
/// and the words of vSphere's. What the call itself lacks, a Secret or an endpoint, is another thing.
pub fn is_gone_in_storage(message: &Message) -> bool {
    const GONE: [&str; 6] = [
        "code = notfound", ".notfound", "could not be found", "already been deleted", "does not exist",
        "no longer exists",
    ];
    const OTHERS: [&str; 5] = ["secret", "credential", "endpoint", "serviceaccount", "namespace"];
    let text = message.0.to_ascii_lowercase();
    GONE.iter().any(|part| text.contains(part)) && !OTHERS.iter().any(|part| text.contains(part))
}

/// Whether a CSI sidecar could not read the Secret that a driver call needs.
pub fn is_secret_not_loaded(message: &Message) -> bool {
    message.has("failed to load secret")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// etcd: api/v3rpc/rpctypes/error.go, `ErrGRPCNoSpace` and `ErrGRPCTimeout`, as the API server prints them.
    #[test]
    fn etcd_says_who_it_is() {
        assert!(is_of_etcd(&"etcdserver: mvcc: database space exceeded".into()));
        assert!(is_of_etcd(&"etcdserver: request timed out".into()));
        assert!(!is_of_etcd(&"context deadline exceeded".into()));
    }

    /// apimachinery: pkg/api/errors/errors.go, `NewInvalid`.
    #[test]
    fn an_invalid_object_is_named() {
        let message = Message::from(r#"Widget.example.com "w1" is invalid: spec.size: Required value"#);
        let resource = Resource::new("example.com", "v1", "widgets");
        let widget = ObjectRef { kind: "Widget".into(), resource, namespace: None, name: "w1".to_owned() };
        assert!(is_invalid(&message, &widget));
        assert!(!is_invalid(&message, &ObjectRef { name: "w".to_owned(), ..widget.clone() }));
        assert!(!is_invalid(&message, &ObjectRef { kind: "Gadget".into(), ..widget.clone() }));
        // A webhook may write its refusal in the same form.
        let denied = format!("admission webhook \"v.example.com\" denied the request: {}", message.0);
        assert!(!is_invalid(&denied.into(), &widget));
    }

    /// apiserver: pkg/admission/plugin/namespace/lifecycle/admission.go, `Admit`.
    #[test]
    fn a_terminating_namespace_takes_nothing_new() {
        let message = r#"jobs.batch "cleanup" is forbidden: unable to create new content in namespace a because it is being terminated"#;
        assert!(is_namespace_terminating(&message.into()));
        assert!(!is_namespace_terminating(&r#"jobs.batch "cleanup" is forbidden: exceeded quota"#.into()));
    }

    #[test]
    fn a_refusal_is_a_right_to_ask_for() {
        let of = |group: &str, at: &str| {
            format!("widgets is forbidden: User \"a\" cannot list resource \"widgets\" in API group \"{group}\" {at}")
        };
        let command = |words: String| Refusal::read(&words).unwrap().command().unwrap();
        assert_eq!(command(of("", "at the cluster scope")), "kubectl auth can-i list widgets -A");
        let words = of("example.com", "in the namespace \"shop\"");
        assert_eq!(command(words), "kubectl auth can-i list widgets.example.com -n shop");
        assert_eq!(Refusal::read("pods is forbidden"), None);
    }

    /// apiserver: pkg/endpoints/handlers/responsewriters/errors.go, `forbiddenMessage`.
    #[test]
    fn a_refusal_names_who_was_refused() {
        let message = r#"query: secrets is forbidden: User "system:serviceaccount:test:none" cannot list resource "secrets" in the namespace"#;
        assert_eq!(refused_account(&message.into()), Some(("test", "none")));
        for other in
            [r#"secrets is forbidden: User "alice" cannot list"#, r#"User "system:serviceaccount:a:b" is tired"#]
        {
            assert_eq!(refused_account(&other.into()), None, "{other}");
        }
    }

    /// kubernetes: pkg/scheduler/framework/plugins/volumebinding/binder.go, `ErrReasonNodeConflict`; older schedulers
    /// say it in the first of these ways.
    #[test]
    fn the_scheduler_says_that_a_volume_is_elsewhere() {
        for reason in ["had volume node affinity conflict", "didn't match PersistentVolume's node affinity"] {
            let message = format!(
                "0/3 nodes are available: 1 node(s) had untolerated taint {{a: }}, 2 node(s) {reason}. no new claims to \
                 deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
            );
            assert!(is_volume_node_affinity_conflict(&message.into()), "{reason}");
        }
        let selector = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.";
        assert!(!is_volume_node_affinity_conflict(&selector.into()));
        assert!(!is_volume_node_affinity_conflict(&"0/3 nodes are available: 3 Insufficient cpu.".into()));
    }

    /// vsphere-csi-driver#502; external-provisioner#1277.
    #[test]
    fn a_storage_says_that_nothing_is_there() {
        for gone in [
            "failed to detach disk: '52f3' from node: 'w1'. Error: CNS: The object or item referred to could not be found",
            "rpc error: code = NotFound desc = Failed to find access point for volume: fs-1::fsap-1",
        ] {
            assert!(is_gone_in_storage(&gone.into()), "{gone}");
        }
        for other in [
            r#"secrets "keys" not found"#,
            "rpc error: code = NotFound desc = secret keys",
            "rpc error: code = Internal",
        ] {
            assert!(!is_gone_in_storage(&other.into()), "{other}");
        }
    }

    /// external-attacher: pkg/controller/csi_handler.go, where it reads the credentials that a PersistentVolume names.
    #[test]
    fn the_attacher_says_that_it_has_no_secret() {
        assert!(is_secret_not_loaded(&r#"failed to load secret "a/keys": secrets "keys" not found"#.into()));
        assert!(!is_secret_not_loaded(&"rpc error: code = Internal desc = detach".into()));
    }
}

//! How the cluster is queried: little, bounded, and every failure reported.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aggregator_core::bounded_list::Room;
use aggregator_core::judgement::judge;
use aggregator_core::state::State;
use client::{Bounds, gather, reach};
use findings::FaultKind;
use kube::Client;

use crate::support::*;

#[test]
fn a_saved_state_gives_the_same_answer() {
    for name in ["discovery-failure", "finalizer-and-webhook", "unreachable-node-pvc-chain", "csi-unmount"] {
        let looked = look(recording(name), everything());
        let saved = serde_json::to_string(&looked.state).unwrap();
        let read: State = serde_json::from_str(&saved).unwrap();
        assert_eq!(judge(&read), looked.report);
        assert!(!saved.contains("last-applied-configuration"), "annotations may hold whole objects");
    }
}

#[test]
fn a_namespace_with_few_hints_is_swept_once_and_with_limits() {
    let looked = look(healthy().going("stuck", all_false()), everything());
    assert_eq!(looked.report.verdict, Verdict::CannotTell, "{:#?}", looked.report);
    // Every list has a limit (the recorded server insists on it), and no Secret is ever read.
    assert!(!looked.requests.iter().any(|path| path.contains("secrets")), "{:#?}", looked.requests);
    let unique: std::collections::BTreeSet<_> = looked.requests.iter().collect();
    assert_eq!(unique.len(), looked.requests.len(), "something was asked twice: {:#?}", looked.requests);
    assert!((20..60).contains(&looked.requests.len()), "{}", looked.requests.len());
}

#[test]
fn secrets_are_counted_and_not_read() {
    let mut conditions = failing(
        "NamespaceContentRemaining",
        "Some resources are remaining: configmaps. has 3 resource instances, secrets. has 2 resource instances",
    );
    let held = "Some content in the namespace has finalizers remaining: ceph.rook.io/disaster-protection in 2 resource instances";
    for condition in conditions.as_array_mut().unwrap() {
        if condition["type"] == "NamespaceFinalizersRemaining" {
            condition["status"] = "True".into();
            condition["message"] = held.into();
        }
    }
    let looked = look(healthy().going("storage", conditions), everything());
    assert!(!looked.requests.iter().any(|path| path.contains("secrets")), "{:#?}", looked.requests);
    assert_ne!(looked.report.verdict, Verdict::Clear, "{:#?}", looked.report);
    let note = looked.report.notes.iter().find(|note| note.contains("2 Secrets remain in storage"));
    assert!(
        note.is_some_and(|note| note.contains("finalizer ceph.rook.io/disaster-protection")),
        "{:#?}",
        looked.report
    );
}

#[test]
fn what_is_forbidden_is_not_empty() {
    let world = healthy().going("stuck", all_false()).refuse("/api/v1/namespaces/stuck/pods", 403, "pods is forbidden");
    let looked = look(world, object("ns", "default", "stuck"));
    assert_eq!(looked.report.verdict, Verdict::CannotTell, "{:#?}", looked.report);
    let pods = looked.report.unknown.iter().find(|one| one.source == "pods of stuck").unwrap();
    assert_eq!((pods.kind, &*pods.why), (Some(FaultKind::Denied), "not visible to us: 403 pods is forbidden"));
}

#[test]
fn nothing_may_be_listed() {
    let world = healthy().refuse("/api/v1", 403, "forbidden");
    assert_eq!(look(world, everything()).report.verdict, Verdict::CannotTell);
}

#[test]
fn a_server_without_aggregated_discovery_is_asked_group_by_group() {
    let world = healthy().going("stuck", json!(null)).only_legacy_discovery();
    let looked = look(world, everything());
    assert!(looked.requests.iter().any(|path| path == "/apis/apps/v1"), "{:#?}", looked.requests);
    assert!(looked.requests.iter().any(|path| path.starts_with("/api/v1/namespaces/stuck/configmaps")));
}

#[test]
fn a_list_that_was_cut_is_not_whole() {
    let mut state = look(healthy(), everything()).state;
    let pods = state.answers.values_mut().find(|answered| answered.question.to_string() == "pods").unwrap();
    pods.cut = true;
    let report = judge(&state);
    assert_eq!(report.verdict, Verdict::CannotTell);
    assert_eq!(report.unknown[0].source, "pods");
}

#[test]
fn what_does_not_exist_is_no_answer() {
    let refused = |subject| look(healthy(), subject).report.refused.unwrap_or_default();
    assert!(refused(object("unicorn", "default", "u")).contains("doesn't have a resource type \"unicorn\""));
    assert_eq!(refused(object("pod", "default", "nope")), "Pod default/nope does not exist");
    assert_eq!(look(healthy(), object("node", "default", "node-a")).report.refused, None);
    // It may be a resource of the API that does not answer, and is not looked up either.
    let looked = look(recording("discovery-failure"), object("unicorn", "default", "u"));
    assert!(looked.report.refused.unwrap_or_default().contains("whose API does not answer"));
}

#[test]
fn a_server_that_never_answers_costs_one_deadline_per_round() {
    let busy = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let service = {
        let (busy, most) = (Arc::clone(&busy), Arc::clone(&most));
        tower::service_fn(move |_: http::Request<kube::client::Body>| {
            let (busy, most) = (Arc::clone(&busy), Arc::clone(&most));
            async move {
                let now = busy.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                std::future::pending::<()>().await;
                Ok::<_, Infallible>(http::Response::new(kube::client::Body::empty()))
            }
        })
    };
    let before = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut state = State::new(everything(), healthy().at);
    runtime.block_on(async {
        let client = Client::new(service, "default");
        let bounds = Bounds { request_timeout: Duration::from_millis(200), ..Bounds::default() };
        gather(&client, &mut state, bounds, |_, _| {}).await;
    });
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    assert!(most.load(Ordering::SeqCst) <= 11);
    let report = judge(&state);
    assert_eq!(report.verdict, Verdict::CannotTell);
    assert!(
        report.unknown.iter().all(|one| one.kind == Some(FaultKind::TimedOut) && one.why.contains("no answer in time")),
        "{:#?}",
        report.unknown
    );
}

#[test]
fn rounds_that_are_used_up_are_reported_with_what_was_not_queried() {
    let world = healthy().going("stuck", json!(null)).going_pod("stuck", "web", "node-a", "Running");
    let whole = look_within(world, everything(), Bounds::default(), |_| {});
    assert_eq!((whole.state.rounds_used_up, whole.report.unknown.len()), (None, 0), "{:#?}", whole.report.unknown);
    let world = healthy().going("stuck", json!(null)).going_pod("stuck", "web", "node-a", "Running");
    let looked = look_within(world, everything(), Bounds { rounds: 2, ..Bounds::default() }, |_| {});
    assert_eq!(looked.report.verdict, Verdict::CannotTell);
    let ended = "not queried: the search ended after 2 rounds of queries";
    let open: Vec<&str> = looked.report.unknown.iter().filter(|one| one.why == ended).map(|one| &*one.source).collect();
    assert!(
        open.contains(&"mutatingwebhookconfigurations.admissionregistration.k8s.io"),
        "{:#?}",
        looked.report.unknown
    );
    let screen = plugin::report::screen(&looked.report, 120, findings::render::Style::Plain);
    assert!(screen.split_whitespace().collect::<Vec<_>>().join(" ").contains(ended), "{screen}");
}

/// Pods come in the order of their namespaces: the first has more than four times what there is room for.
#[test]
fn of_a_list_that_is_too_long_each_namespace_has_its_share() {
    let world =
        (0..2500).fold(healthy(), |world, number| world.going_pod("flood", &format!("p{number}"), "node-a", "Running"));
    let world = world.going_pod("small", "one", "node-a", "Running");
    let mut state = State::new(everything(), world.at);
    let dir = tempfile::tempdir().unwrap();
    world.write(dir.path());
    let store = apiserver::Store::new(dir.path()).with_recording(dir.path());
    let service = apiserver::service(&store, apiserver::VERSION).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let room = Room { max_objects: 600, ..Bounds::default().room };
    let bounds = Bounds { room, ..Bounds::default() };
    runtime.block_on(async {
        let client = Client::new(service, "default");
        gather(&client, &mut state, bounds, |_, _| {}).await;
    });
    let report = judge(&state);
    let pods: Vec<_> =
        report.objects().iter().filter(|one| one.object.kind == "Pod").map(|one| one.object.clone()).collect();
    assert!(pods.iter().any(|pod| pod.namespace.as_deref() == Some("small")), "{} pods", pods.len());
    assert!((590..=600).contains(&pods.len()), "{}", pods.len());
    assert!(report.unknown.iter().any(|one| one.kind == Some(FaultKind::TooLarge)), "{:#?}", report.unknown);
}

#[test]
fn the_servers_clock_counts() {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        let response = http::Response::builder().header("date", "Sat, 21 Nov 2026 08:47:42 GMT");
        response.body(kube::client::Body::from(br#"{"gitVersion": "v1.36.2"}"#.to_vec()))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut state = State::new(everything(), healthy().at);
    runtime.block_on(async {
        reach(&Client::new(service, "default"), &mut state, Bounds::default()).await.unwrap();
    });
    assert_eq!(state.at.to_string(), "2026-11-21T08:47:42Z");
}

#[test]
fn thousands_of_victims_are_judged_in_a_moment() {
    let mut world = healthy().node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    let asked = world.ago(600);
    let pods = world.list("/api/v1/pods");
    for number in 0..3000 {
        pods.push(json!({
            "metadata": {
                "name": format!("p{number}"), "uid": number.to_string(), "namespace": "a", "deletionTimestamp": asked
            },
            "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}
        }));
    }
    let looked = look(world, everything());
    assert_eq!(looked.victims(0).len(), 3000);
    // Ten lists, the rows of the pods, and these in pages of 500.
    assert!(looked.requests.len() < 25, "{:#?}", looked.requests);
    let before = Instant::now();
    judge(&looked.state);
    // Unoptimised, and on a busy machine; what is held off is a minute.
    assert!(before.elapsed() < Duration::from_secs(15), "{:?}", before.elapsed());
}

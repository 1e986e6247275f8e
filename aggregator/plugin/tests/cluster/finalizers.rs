//! Finalizers: the controller alive, failing, gone, or in the very namespace.

use crate::support::*;

fn widget() -> World {
    let remaining = "Some resources are remaining: widgets.example.com has 1 resource instances";
    healthy()
        .with_custom("example.com", "widgets", "Widget")
        .going("team", failing("NamespaceContentRemaining", remaining))
        .held("example.com/v1", "Widget", "team", "w", &["widgets.example.com/cleanup"])
}

#[test]
fn an_operator_in_the_namespace_it_must_clean() {
    // Its workload is still there, without pods.
    let world = widget().deployment("team", "op", 1, 0).may_change("team", "op", "example.com", "widgets");
    assert_eq!(look(world, everything()).causes(), ["FinalizerOwnerInSameNamespace"]);
    // Its workload is gone; its account's rights remain.
    let looked = look(widget().may_change("team", "op", "example.com", "widgets"), everything());
    assert_eq!(looked.causes(), ["FinalizerOwnerInSameNamespace"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().starts_with("ServiceAccount team/op"), "{:?}", looked.chain(0));
}

#[test]
fn a_controller_that_is_gone() {
    let scaled = widget().deployment("ops", "op", 0, 0).may_change("ops", "op", "example.com", "widgets");
    let looked = look(scaled, everything());
    assert_eq!(looked.causes(), ["FinalizerControllerGone"]);
    let commands = looked.commands();
    assert!(commands.contains(&"kubectl -n ops scale deployment/op --replicas=1".to_owned()), "{commands:?}");
    assert!(commands[0].starts_with("kubectl get widgets.example.com w -n team "), "{commands:?}");
    let uninstalled = widget().may_change("ops", "op", "example.com", "widgets");
    assert_eq!(look(uninstalled, everything()).causes(), ["FinalizerControllerGone"]);
}

#[test]
fn a_controller_that_is_not_ready_or_does_not_finish() {
    let not_ready = widget().deployment("ops", "op", 1, 0).may_change("ops", "op", "example.com", "widgets");
    assert_eq!(look(not_ready, everything()).causes(), ["FinalizerControllerNotReady"]);
    let failing = || widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
    let reported = failing().change("/apis/example.com/v1/widgets", "w", |one| {
        one["status"] = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "NoCredentials", "message": "401"}]});
    });
    let looked = look(reported, everything());
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(looked.chain(0).last().unwrap().contains("NoCredentials"), "{:?}", looked.chain(0));
    let blocked = failing().with(json!({
        "kind": "Event", "metadata": {"name": "e", "namespace": "team"}, "type": "Warning", "reason": "CleanupFailed",
        "message": "jobs is forbidden: unable to create new content in namespace team because it is being terminated",
        "involvedObject": {"kind": "Widget", "name": "w"}
    }));
    assert_eq!(look(blocked, everything()).causes(), ["FinalizerControllerBlocked"]);
    // Of a finalizer behind which nothing is left nothing is lost.
    let message = "jobs is forbidden: unable to create new content in namespace team because it is being terminated";
    let empty = healthy()
        .active("team")
        .held("v1", "PersistentVolumeClaim", "team", "data", &["topolvm.io/pvc"])
        .set_by("/api/v1/persistentvolumeclaims", "data", "topolvm-controller")
        .deployment("ops", "topolvm-controller", 1, 1)
        .may_change("ops", "topolvm-controller", "", "persistentvolumeclaims")
        .event(("PersistentVolumeClaim", "team", "data"), "Warning", "CleanupFailed", message);
    let looked = look(empty, object("pvc", "team", "data"));
    assert_eq!(looked.causes(), ["FinalizerControllerBlocked"], "{:#?}", looked.report);
    assert!(!format!("{:?}", looked.report.roots[0].finding.remedy.steps).contains("Last resort"));
}

/// As when it was scaled up again: it needs a moment for what has waited.
#[test]
fn a_controller_that_has_just_become_ready_has_a_minute() {
    for (seconds, verdict) in [(5, Verdict::Progressing), (120, Verdict::Stuck)] {
        let world = widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
        let since = world.ago(seconds);
        let world = world.change("/apis/apps/v1/deployments", "op", |one| {
            one["status"]["conditions"] = json!([{"type": "Available", "status": "True", "lastTransitionTime": since}]);
        });
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["FinalizerControllerFailing"]);
        assert_eq!(looked.report.verdict, verdict, "ready for {seconds} s");
        assert!(looked.chain(0).pop().unwrap().starts_with("Deployment ops/op: runs"), "{:?}", looked.chain(0));
    }
}

#[test]
fn an_object_whose_update_is_refused() {
    let warning = |kind: &str, name: &str, refused: &str| {
        json!({
            "kind": "Event", "metadata": {"name": "e", "namespace": "team"}, "type": "Warning", "reason": "ReconcileError",
            "message": format!("{refused} is invalid: spec.size: Required value"),
            "involvedObject": {"kind": kind, "name": name}
        })
    };
    let served = || widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
    let looked = look(served().with(warning("Widget", "w", "Widget.example.com \"w\"")), everything());
    assert_eq!(looked.causes(), ["UpdateFailsValidation"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    assert!(finding.evidence.iter().any(|one| one.says.contains("spec.size: Required value")), "{finding:#?}");
    // It means nothing for an object of another name, nor for a child that is called as its parent.
    for other in
        ["Widget.example.com \"other\"", "StatefulSet.apps \"w\"", "SubWidget.example.com \"w\"", "Widget \"w\""]
    {
        let looked = look(served().with(warning("Widget", "w", other)), everything());
        assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{other}");
    }
    // A built-in kind, whose finalizer no known program removes.
    let config = healthy().with(json!({"kind": "Namespace", "metadata": {"name": "team"}}));
    let config = config.held("v1", "ConfigMap", "team", "c", &["example.com/hold"]);
    let config = config.with(warning("ConfigMap", "c", "ConfigMap \"c\""));
    assert_eq!(look(config, object("cm", "team", "c")).causes(), ["UpdateFailsValidation"]);
}

#[test]
fn warnings_are_asked_for_once_for_all_objects_of_a_kind() {
    let mut world = widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
    for number in 0..20 {
        world = world.held("example.com/v1", "Widget", "team", &format!("w{number}"), &["widgets.example.com/cleanup"]);
    }
    let looked = look(world, everything());
    assert_eq!((looked.causes(), looked.report.roots[0].on_the_way.len()), (vec!["FinalizerControllerFailing"], 21));
    let lists = looked.requests.iter().filter(|path| path.starts_with("/api/v1/namespaces/team/events"));
    assert_eq!(lists.count(), 1, "{:#?}", looked.requests);
}

#[test]
fn a_controller_that_has_just_begun_is_progressing() {
    let world = widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
    let now = world.ago(20);
    let world = world.change("/apis/example.com/v1/widgets", "w", |one| {
        one["metadata"]["deletionTimestamp"] = now.into();
    });
    assert_eq!(look(world, everything()).report.verdict, Verdict::Progressing);
}

#[test]
fn rights_that_are_not_visible_are_not_absent() {
    let world = widget().refuse("/apis/rbac.authorization.k8s.io/v1/clusterroles", 403, "clusterroles is forbidden");
    let looked = look(world, everything());
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable, "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().contains("could not be looked up"), "{:?}", looked.chain(0));
    assert!(looked.report.unknown.iter().any(|one| one.why.contains("not visible to us")));
}

#[test]
fn a_foreground_deletion_waits_for_what_it_owns() {
    let owned = |blocks: bool| json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "ConfigMap-owner", "blockOwnerDeletion": blocks}]);
    let world = || {
        healthy().with(json!({"kind": "Namespace", "metadata": {"name": "a"}})).held(
            "v1",
            "ConfigMap",
            "a",
            "owner",
            &["foregroundDeletion"],
        )
    };
    let held = world().held("v1", "ConfigMap", "a", "dependent", &["example.com/hold"]).change(
        "/api/v1/configmaps",
        "dependent",
        |one| one["metadata"]["ownerReferences"] = owned(true),
    );
    let looked = look(held, object("cm", "a", "owner"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    looked.assert_chain(0, &["ConfigMap a/owner: Terminating", "ConfigMap a/dependent: Terminating"]);
    let free = world().with(json!({
        "kind": "ConfigMap", "metadata": {"name": "free", "namespace": "a", "ownerReferences": owned(true)}
    }));
    assert_eq!(look(free, object("cm", "a", "owner")).causes(), ["ForegroundDependentsRemain"]);
    let none = world().with(json!({
        "kind": "ConfigMap", "metadata": {"name": "free", "namespace": "a", "ownerReferences": owned(false)}
    }));
    assert_eq!(look(none, object("cm", "a", "owner")).causes(), ["GarbageCollectorNotWorking"]);
}

#[test]
fn objects_that_own_each_other_end() {
    let by = |uid: &str| json!([{"kind": "ConfigMap", "name": "x", "uid": uid, "blockOwnerDeletion": true}]);
    let world = || {
        healthy()
            .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
            .held("v1", "ConfigMap", "a", "one", &["foregroundDeletion"])
            .held("v1", "ConfigMap", "a", "two", &["foregroundDeletion"])
            .change("/api/v1/configmaps", "one", |it| it["metadata"]["ownerReferences"] = by("ConfigMap-two"))
            .change("/api/v1/configmaps", "two", |it| it["metadata"]["ownerReferences"] = by("ConfigMap-one"))
    };
    let looked = look(world(), object("cm", "a", "one"));
    assert_eq!(looked.causes(), ["DeletionsWaitForEachOther"], "{:#?}", looked.report);
    looked.assert_chain(0, &["ConfigMap a/one", "ConfigMap a/two"]);
    assert!(looked.chain(0)[1].ends_with("it waits for ConfigMap a/one again"), "{:?}", looked.chain(0));
    let edit = "kubectl edit configmap one -n a".to_owned();
    assert!(looked.commands().contains(&edit), "{:?}", looked.commands());
    let has = |looked: &Looked, text: &str| {
        looked.report.roots[0].finding.remedy.steps.iter().any(|step| step.text.contains(text))
    };
    assert!(!has(&looked, "Find out which") && !has(&looked, "Where they"), "{:#?}", looked.report.roots);
    // What else holds one of them holds both.
    let held = world().change("/api/v1/configmaps", "two", |it| {
        it["metadata"]["finalizers"] = json!(["foregroundDeletion", "example.com/hold"]);
    });
    let looked = look(held, object("cm", "a", "one"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
}

/// Where no owner makes the circle, no ownerReferences open it.
#[test]
fn objects_whose_controllers_wait_for_each_other_end() {
    let waits = |of: &str| {
        json!({"conditions": [{
            "type": "Deleting", "status": "True", "reason": "Waiting", "message": format!("waiting for widget {of} to be deleted")
        }]})
    };
    let path = "/apis/example.com/v1/widgets";
    let world = healthy()
        .with_custom("example.com", "widgets", "Widget")
        .active("a")
        .held("example.com/v1", "Widget", "a", "one", &["example.com/hold"])
        .held("example.com/v1", "Widget", "a", "two", &["example.com/hold"])
        .reports(path, "one", waits("two"))
        .reports(path, "two", waits("one"))
        .deployment("ops", "op", 1, 1)
        .may_change("ops", "op", "example.com", "widgets");
    let looked = look(world, object("widget", "a", "one"));
    assert_eq!(looked.causes(), ["DeletionsWaitForEachOther"], "{:#?}", looked.report);
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(steps.iter().any(|step| step.text.starts_with("Find out which")), "{steps:#?}");
    assert!(!looked.commands().iter().any(|one| one.contains(" edit ")), "{:?}", looked.commands());
}

#[test]
fn a_jobs_pod_that_was_not_counted() {
    let world = healthy().going_pod("a", "p", "node-a", "Succeeded").change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    });
    assert_eq!(look(world, everything()).causes(), ["JobTrackingFinalizer"]);
}

#[test]
fn a_jobs_pod_that_another_controller_counts() {
    let pod = |owner: serde_json::Value| {
        healthy().going_pod("a", "p", "node-a", "Succeeded").change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            pod["metadata"]["ownerReferences"] = json!([owner]);
        })
    };
    let job = |managed_by: serde_json::Value| {
        pod(json!({"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j"})).with(json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "a", "uid": "j"},
            "spec": {"managedBy": managed_by}
        }))
    };
    let root = |world: World| {
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["JobTrackingFinalizer"], "{:#?}", looked.report);
        looked.chain(0).pop().unwrap()
    };
    assert!(root(job(json!("kueue.x-k8s.io/multikueue"))).contains("spec.managedBy kueue.x-k8s.io/multikueue"));
    assert!(!root(job(json!("kubernetes.io/job-controller"))).contains("managedBy"));
    assert!(!root(job(json!(null))).contains("managedBy"));
    let other = pod(json!({"apiVersion": "example.com/v1", "kind": "Flow", "name": "f", "uid": "f"}));
    assert!(root(other).contains("owned by Flow f, which is no Job"));
}

/// The controller that counts the pods is the one to check: of another controller's Job the controller manager removes nothing.
#[test]
fn a_job_of_another_controller_names_that_one_in_its_steps() {
    let job = |managed_by: serde_json::Value| {
        let world = healthy().going_pod("a", "p", "node-a", "Succeeded").change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            pod["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j"}]);
        });
        world.with(json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "a", "uid": "j"},
            "spec": {"managedBy": managed_by}
        }))
    };
    let lease = "kubectl -n kube-system get lease kube-controller-manager -o yaml";
    for (by, is_other) in [(json!("kueue.x-k8s.io/multikueue"), true), (json!(null), false)] {
        let looked = look(job(by.clone()), everything());
        let root = looked.chain(0).pop().unwrap();
        assert_eq!(root.contains("kube-controller-manager removes"), !is_other, "{root}");
        assert_eq!(looked.commands().iter().any(|command| command == lease), !is_other, "{:#?}", looked.commands());
        let steps = &looked.report.roots[0].finding.remedy.steps;
        let is_named = |step: &findings::Step| step.text.contains("controller kueue.x-k8s.io/multikueue");
        assert_eq!(steps.iter().any(|step| !step.is_check && is_named(step)), is_other, "{steps:#?}");
    }
    let silent = job(json!("kueue.x-k8s.io/multikueue")).without_controller_manager();
    assert_eq!(look(silent, everything()).causes(), ["JobTrackingFinalizer"], "it is not its work");
}

#[test]
fn an_ingress_whose_class_went_first() {
    let ingress = || {
        let held = healthy().with(json!({"kind": "Namespace", "metadata": {"name": "a"}})).held(
            "networking.k8s.io/v1",
            "Ingress",
            "a",
            "web",
            &["ingress.k8s.aws/resources"],
        );
        held.change("/apis/networking.k8s.io/v1/ingresses", "web", |one| {
            one["spec"] = json!({"ingressClassName": "alb"})
        })
    };
    let looked = look(ingress(), object("ingress", "a", "web"));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    looked.assert_chain(0, &["Ingress a/web: Terminating", "IngressClass alb: does not exist"]);
    let class = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "alb"}});
    let looked = look(ingress().with(class), object("ingress", "a", "web"));
    looked.assert_chain(0, &["Ingress a/web: Terminating"]);
}

#[test]
fn a_finalizer_that_stands_twice_in_the_list() {
    let twice = |ready| {
        widget()
            .change("/apis/example.com/v1/widgets", "w", |one| {
                one["metadata"]["finalizers"] = json!(["widgets.example.com/cleanup", "widgets.example.com/cleanup"]);
            })
            .deployment("ops", "op", 1, ready)
            .may_change("ops", "op", "example.com", "widgets")
    };
    let looked = look(twice(1), everything());
    assert_eq!(looked.causes(), ["FinalizerListedTwice"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    assert!(finding.evidence.iter().any(|one| one.says.contains("cleanup 2 times")), "{finding:#?}");
    // No controller is there to remove even one.
    assert_eq!(look(twice(0), everything()).causes(), ["FinalizerControllerNotReady"]);
}

/// The server takes no new finalizer for an object that is being deleted, but for one that an update leaves as it was.
#[test]
fn a_finalizer_that_a_webhook_puts_back() {
    let world = |written: i64, kind: &str| {
        let world = widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
        let time = world.ago(written);
        let world = world.change("/apis/example.com/v1/widgets", "w", |one| {
            one["metadata"]["managedFields"] = json!([{
                "manager": "op", "operation": "Update", "time": time,
                "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"widgets.example.com/cleanup\"": {}}}}
            }]);
        });
        world.with(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": "kyverno-resource-mutating-webhook-cfg"},
            "webhooks": [{
                "name": "mutate.kyverno.svc-ignore", "failurePolicy": "Ignore",
                "clientConfig": {"service": {"namespace": "kyverno", "name": "kyverno-svc"}},
                "rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": ["example.com"], "apiVersions": ["v1"],
                    "resources": ["widgets"]}]
            }]
        }))
    };
    let looked = look(world(30, "MutatingWebhookConfiguration"), everything());
    assert_eq!(looked.causes(), ["FinalizerAddedAgain"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    let says = |words: &str| finding.evidence.iter().any(|one| one.says.contains(words));
    assert!(says("written by op at") && says("kyverno-resource-mutating-webhook-cfg"), "{finding:#?}");
    // The server records what clients write, and not what webhooks do.
    let owned_by_no_client = |operations: &[&str]| {
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
        let world = world(900, "MutatingWebhookConfiguration").change("/apis/example.com/v1/widgets", "w", |one| {
            one["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:spec": {}});
        });
        let world = world.change(path, "kyverno-resource-mutating-webhook-cfg", |one| {
            one["webhooks"][0]["rules"][0]["operations"] = json!(operations);
        });
        look(world, everything())
    };
    assert_eq!(owned_by_no_client(&["UPDATE"]).causes(), ["FinalizerAddedAgain"]);
    // One that is called for creations may have set it then.
    assert_eq!(owned_by_no_client(&["CREATE", "UPDATE"]).causes(), ["FinalizerControllerFailing"]);
    // Written before the deletion, or by a webhook that cannot change it: its controller does not finish.
    for other in [world(900, "MutatingWebhookConfiguration"), world(30, "ValidatingWebhookConfiguration")] {
        assert_eq!(look(other, everything()).causes(), ["FinalizerControllerFailing"]);
    }
}

/// Three finalizers that a person set on one object: what each is called leads to a Deployment, where nothing better does.
#[test]
fn a_finalizer_leads_to_the_deployment_that_is_called_as_it_begins() {
    let names = ["alpha", "beta", "gamma"];
    let finalizers = names.map(|name| format!("{name}.example.com/cleanup"));
    let world = || {
        let all = finalizers.each_ref().map(String::as_str);
        let world = healthy().active("a").held("v1", "ConfigMap", "a", "all", &all);
        world.set_by("/api/v1/configmaps", "all", "kubectl-patch")
    };
    let asked = |world| look(world, object("cm", "a", "all"));
    // They may change no ConfigMap: a name alone calls for no right.
    let with = |name: &'static str| move |world: World| world.deployment("ops", name, 1, 1);
    let looked = asked(with("alpha")(with("beta-controller")(with("gamma")(world()))));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"; 3], "{:#?}", looked.report);
    let mut ends: Vec<String> = (0..3).map(|root| looked.chain(root).last().unwrap().clone()).collect();
    ends.sort_unstable();
    for (end, deployment) in ends.iter().zip(["ops/alpha", "ops/beta-controller", "ops/gamma"]) {
        assert!(
            end.starts_with(&format!("Deployment {deployment}: has the name that the finalizer begins with")),
            "{ends:?}"
        );
    }
    assert!(looked.report.roots.iter().all(|root| root.finding.confidence == Confidence::Probable));
    // One that may, and does not run.
    let looked = asked(world().deployment("ops", "beta", 1, 0).may_change("ops", "beta", "", "configmaps"));
    let mut causes = looked.causes();
    causes.sort_unstable();
    assert_eq!(causes, ["FinalizerControllerNotReady", "FinalizerOwnerUnknown"]);
    let down = looked.report.roots.iter().find(|root| root.finding.cause.id == "FinalizerControllerNotReady").unwrap();
    assert_eq!(down.finding.confidence, Confidence::Probable);
    // The domain of a company names no program.
    let plain = healthy().active("a").held("v1", "ConfigMap", "a", "all", &["example.com/hold"]);
    let looked = asked(plain.deployment("ops", "example", 1, 1));
    assert_eq!(looked.chain(0).len(), 1, "{:?}", looked.chain(0));
}

/// What removes the finalizer may run: only what was seen allows to go on without it.
#[test]
fn the_last_resort_is_not_printed_where_the_controller_may_run_unseen() {
    let removes = |looked: &Looked| looked.commands().iter().any(|it| it.contains("--type=json -p"));
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let asked = |world: World| look(world, object("widget", "team", "w"));
    assert!(removes(&asked(widget())), "no role names the kind");
    let looked = asked(widget().refuse(roles, 403, "clusterroles is forbidden"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    assert!(!removes(&looked), "{:?}", looked.commands());
    // That they could not be read counts for the second finalizer too.
    let both = widget().change("/apis/example.com/v1/widgets", "w", |one| {
        one["metadata"]["finalizers"] = json!(["widgets.example.com/a", "widgets.example.com/b"]);
    });
    let looked = asked(both.refuse(roles, 403, "clusterroles is forbidden"));
    assert!(looked.causes().iter().all(|cause| *cause == "FinalizerOwnerUnknown"), "{:#?}", looked.report);
    assert!(!format!("{:?}", looked.report.roots).contains("no RBAC role"), "{:#?}", looked.report.roots);
    // A user of whom the cluster shows nothing may be its controller.
    let user = json!([{"kind": "User", "name": "robot"}]);
    let looked = asked(widget().grants("op", &["example.com"], &["widgets"], &["update"], user));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    assert!(!removes(&looked), "{:?}", looked.commands());
    // Of a built-in kind roles show nothing.
    let held = || healthy().active("a").held("v1", "ConfigMap", "a", "c", &["one.example.com/hold"]);
    let asked = |world: World| look(world, object("cm", "a", "c"));
    assert!(removes(&asked(held())));
}

/// A list that is refused does not show that nothing runs.
#[test]
fn what_runs_as_an_account_is_not_known_where_workloads_may_not_be_listed() {
    let world = widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
    let looked = look(
        world.refuse("/apis/apps/v1/namespaces/ops/deployments", 403, "deployments.apps is forbidden"),
        object("widget", "team", "w"),
    );
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    let text = format!("{:?} {:?}", looked.chain(0), looked.commands());
    assert!(text.contains("what runs as it was not seen") && !text.contains("--type=json -p"), "{text}");
}

//! What an object's own words lead to: a controller that runs is a link, and the root is what is seen to be broken behind it.

use crate::support::*;

const WIDGETS: &str = "/apis/example.com/v1/widgets";
const CALL: &str = "cannot update: Internal error occurred: failed calling webhook \"guard.example.com\": failed to call webhook: Post \
    \"https://guard.guard.svc:443/v?timeout=10s\": ";

fn reports(message: &str) -> Value {
    json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Error", "message": message}]})
}

/// A widget that is being deleted, whose controller runs and reports this.
fn widget(message: &str) -> World {
    healthy()
        .active("a")
        .with_custom("example.com", "widgets", "Widget")
        .held("example.com/v1", "Widget", "a", "w", &["example.com/cleanup"])
        .reports(WIDGETS, "w", reports(message))
        .deployment("ops", "op", 1, 1)
        .may_change("ops", "op", "example.com", "widgets")
}

fn asked(world: World) -> Looked {
    look(world, object("widget", "a", "w"))
}

#[test]
fn a_webhook_that_its_controller_runs_into_is_the_root() {
    let not_found = format!("{CALL}service \"guard\" not found");
    let looked = asked(widget(&not_found).webhook("UPDATE", "", "namespaces"));
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Widget a/w: held by finalizer example.com/cleanup",
            "Deployment ops/op: runs (1 of 1 pods ready) and has not removed it: Ready=False Error",
            "ValidatingWebhookConfiguration guard: admission calls webhook guard.example.com",
            "Service guard/guard: does not exist",
        ],
    );
    assert!(looked.chain(0)[1].contains("service 'guard' not found\""), "{:?}", looked.chain(0));
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(looked.commands().iter().any(|it| it == "kubectl delete validatingwebhookconfiguration/guard"));
}

/// The words are untrusted: every writer of the status can choose them.
#[test]
fn what_is_only_said_and_not_seen_to_be_broken_is_no_root() {
    let not_found = format!("{CALL}service \"guard\" not found");
    // It is there and has an endpoint: that is repaired, or was never so.
    let repaired = widget(&not_found).webhook("UPDATE", "", "namespaces").service("guard", "guard", Some("node-1"));
    let looked = asked(repaired);
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].contains("Webhook guard.example.com answers again"), "{:?}", looked.chain(0));
    // No such webhook is configured.
    let looked = asked(widget(&not_found));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].contains("is configured no more"), "{:?}", looked.chain(0));
    for claim in [
        "etcdserver: mvcc: database space exceeded",
        "the server has received too many requests",
        "admission webhook \"x.example.com\" denied the request: no",
        "namespaces \"a\" not found",
        "no matches for kind \"Pod\" in version \"v1\"",
        "unable to transform key \"/registry/secrets/a/b\": no key",
        "x is forbidden: User \"system:serviceaccount:kube-system:namespace-controller\" cannot list pods",
    ] {
        assert_eq!(asked(widget(claim)).causes()[..], ["FinalizerControllerFailing"][..], "{claim}");
    }
}

/// A failure of a call to what is there and ready can be neither seen nor refuted.
#[test]
fn what_exists_is_told_as_said_by_the_object_alone() {
    let x509 = format!("{CALL}tls: failed to verify certificate: x509: certificate signed by unknown authority");
    let served =
        |message: &str| widget(message).webhook("UPDATE", "", "namespaces").service("guard", "guard", Some("node-1"));
    let looked = asked(served(&x509));
    assert_eq!(looked.causes(), ["WebhookCertificateInvalid"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    assert!(finding.missing.as_ref().unwrap().contains("only status of Widget a/w says it"), "{:?}", finding.missing);
    assert!(looked.chain(0)[2].starts_with("ValidatingWebhookConfiguration guard: "), "{:?}", looked.chain(0));
    let denied = "admission webhook \"guard.example.com\" denied the request: not on Fridays";
    assert_eq!(asked(served(denied)).causes(), ["WebhookRefusesDelete"]);
}

#[test]
fn what_the_controller_needs_and_is_missing_is_the_root() {
    for (message, root) in [
        (
            "Get \"https://store.data.svc:8443/x\": dial tcp 10.96.0.9:8443: connect: connection refused",
            "Service data/store",
        ),
        (
            "no matches for kind \"Gadget\" in version \"gadgets.example.com/v1\"",
            "kind Gadget of gadgets.example.com/v1",
        ),
        (
            "secrets \"s\" is forbidden: User \"system:serviceaccount:ops:op\" cannot update resource \"secrets\" in API group \"\" in \
             the namespace \"a\"",
            "ServiceAccount ops/op: may not update secrets",
        ),
        (
            "secrets \"s\" is forbidden: User \"system:serviceaccount:ops:op\" cannot get resource \"secrets\" in API group \"\" in \
             the namespace \"a\"",
            "ServiceAccount ops/op: was refused, as the controller reports: may not get resource \"secrets\"",
        ),
        ("cannot run hooks: namespaces \"gone\" not found", "Namespace gone: does not exist"),
        ("reconcile failed: ServiceAccount \"deployer\" not found", "ServiceAccount a/deployer: does not exist"),
        (
            "getting route53 provider: secrets \"route53\" not found",
            "Secret a/route53: is not found, as the controller reports",
        ),
        ("configmaps \"settings\" not found", "ConfigMap a/settings: does not exist"),
    ] {
        let looked = asked(widget(message));
        assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{message}: {:#?}", looked.report);
        let chain = looked.chain(0);
        assert!(chain[1].starts_with("Deployment ops/op: runs"), "{chain:?}");
        assert!(chain.last().unwrap().starts_with(root), "{chain:?}");
    }
    let serves = widget("Get \"https://store.data.svc:8443/x\": EOF").service("data", "store", Some("node-1"));
    assert_eq!(asked(serves).causes(), ["FinalizerControllerFailing"]);
}

/// One of that name is there, or it is of a kind that nothing serves, or that comes and goes, or is the object itself.
#[test]
fn what_is_not_found_and_cannot_be_missed_is_only_quoted() {
    let account = || {
        widget("ServiceAccount \"deployer\" not found")
            .with(json!({"kind": "ServiceAccount", "metadata": {"name": "deployer", "namespace": "a"}}))
    };
    let quoted = |world: World| assert_eq!(asked(world).causes(), ["FinalizerControllerFailing"]);
    quoted(account());
    for message in ["pods \"p-1\" not found", "bucket \"b\" not found", "widgets.example.com \"w\" not found"] {
        quoted(widget(message));
    }
}

#[test]
fn an_api_that_the_words_name_is_looked_up() {
    let message =
        "unable to retrieve the complete list of server APIs: gone.example.com/v1: stale GroupVersion discovery";
    let looked = asked(widget(message).dead_api("ServiceNotFound", "service/api in \"addon\" is not present"));
    assert_eq!(looked.causes(), ["ApiServiceWithoutService"], "{:#?}", looked.report);
    let looked = asked(widget(message));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"]);
    assert!(looked.chain(0)[1].contains("API group gone.example.com is served no more"), "{:?}", looked.chain(0));
    // Without a condition, or without discovery, nothing shows that it answers.
    let api = |status: Value| {
        widget(message).with(json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.gone.example.com"},
            "spec": {"group": "gone.example.com", "version": "v1"}, "status": status
        }))
    };
    let open = asked(api(json!({})));
    assert!(!format!("{:?}", open.chain(0)).contains("answers again"), "{:?}", open.chain(0));
    let answers = asked(api(json!({"conditions": [{"type": "Available", "status": "True"}]})));
    assert!(format!("{:?}", answers.chain(0)).contains("answers again"), "{:?}", answers.chain(0));
}

#[test]
fn an_event_leads_as_a_condition_does() {
    let not_found = format!("{CALL}service \"guard\" not found");
    let world = widget("").webhook("UPDATE", "", "namespaces").reports(WIDGETS, "w", json!({}));
    let looked = asked(world.event(("Widget", "a", "w"), "Warning", "UpdateFailed", &not_found));
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
}

#[test]
fn a_condition_from_before_the_deletion_is_told_as_that() {
    let world = widget("quota exceeded");
    let then = world.ago(86_400);
    let old = world.change(WIDGETS, "w", |one| one["status"]["conditions"][0]["lastTransitionTime"] = then.into());
    let words = "Ready=False Error (from before the deletion): \"quota exceeded\"";
    let unchanged = "Ready=False Error (unchanged since before the deletion): \"quota exceeded\"";
    assert!(asked(old).chain(0)[1].contains(unchanged));
    let generation = widget("quota exceeded").change(WIDGETS, "w", |one| {
        one["metadata"]["generation"] = 3.into();
        one["status"]["conditions"][0]["observedGeneration"] = 2.into();
    });
    assert!(asked(generation).chain(0)[1].contains(words));
    assert!(!asked(widget("quota exceeded")).chain(0)[1].contains("from before"));
}

/// The namespace controller's own words are its own: what they name and works again is the minute after a repair.
#[test]
fn a_namespaces_condition_about_what_was_repaired_is_outdated() {
    let not_found = content_failure(&format!("{CALL}service \"guard\" not found"));
    let changed = |seconds: i64| {
        let world = healthy().going("stuck", not_found.clone()).webhook("DELETE", "", "configmaps");
        let at = world.ago(seconds);
        world.service("guard", "guard", Some("node-1")).change(
            "/apis/discovery.k8s.io/v1/endpointslices",
            "guard-1",
            |slice| slice["metadata"]["annotations"] = json!({"endpoints.kubernetes.io/last-change-trigger-time": at}),
        )
    };
    let looked = look(changed(30), everything());
    assert_eq!(looked.causes(), ["NamespaceConditionOutdated"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Progressing);
    assert!(
        looked.chain(0)[0].contains("Webhook guard.example.com, which answers again for 30s"),
        "{:?}",
        looked.chain(0)
    );
    let looked = look(changed(3600), everything());
    assert_eq!((looked.causes()[0], looked.report.verdict), ("NamespaceConditionOutdated", Verdict::Stuck));
    // Removed in place of repaired.
    let removed = look(healthy().going("stuck", not_found.clone()), everything());
    assert_eq!(removed.causes(), ["NamespaceConditionOutdated"], "{:#?}", removed.report);
    let broken = look(healthy().going("stuck", not_found).webhook("DELETE", "", "configmaps"), everything());
    assert_eq!(broken.causes(), ["WebhookUnavailable"], "{:#?}", broken.report);
}

#[test]
fn a_namespaces_condition_about_a_certificate_names_the_configuration() {
    let x509 = content_failure(&format!("{CALL}tls: failed to verify certificate: x509: certificate has expired"));
    let world =
        healthy().going("stuck", x509).webhook("DELETE", "", "configmaps").service("guard", "guard", Some("node-1"));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["WebhookCertificateInvalid"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
    assert!(
        looked.chain(0)[1].starts_with("ValidatingWebhookConfiguration guard: its webhook"),
        "{:?}",
        looked.chain(0)
    );
    let steps = format!("{:?}", looked.report.roots[0].finding.remedy.steps);
    assert!(steps.contains("caBundle renewed together"), "{steps}");
}

/// The role is whole: the server of the aggregated API decides for itself.
#[test]
fn a_refusal_of_an_extension_server_is_not_one_of_the_namespace_controllers_role() {
    let forbidden = content_failure(
        "gadgets.ext.example.com is forbidden: User \"system:serviceaccount:kube-system:namespace-controller\" cannot list \
         resource \"gadgets\" in API group \"ext.example.com\" in the namespace \"stuck\"",
    );
    let available = json!({"status": "True", "reason": "Passed", "message": "all checks passed"});
    let world = || healthy().going("stuck", forbidden.clone());
    let looked = look(world().aggregated("ext.example.com", "v1", "ext/server", available), everything());
    assert_eq!(looked.causes(), ["ApiServiceForbids"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].starts_with("APIService v1.ext.example.com: its server"), "{:?}", looked.chain(0));
    assert!(!format!("{:?}", looked.report).contains("restarting kube-apiserver"));
    let custom = world().with_custom("ext.example.com", "gadgets", "Gadget");
    assert_eq!(look(custom, everything()).causes(), ["BuiltInControllerForbidden"]);
    // The API was removed since: the condition is as old as the last attempt.
    assert_eq!(look(world(), everything()).causes(), ["NamespaceConditionOutdated"]);
}

/// Words that name no kind: each kind is listed, and the one whose list fails is named.
#[test]
fn the_kind_that_cannot_be_read_is_named() {
    for error in ["illegal base64 data at input byte 3", "words of a later version"] {
        let world = healthy().going("stuck", content_failure(error)).with_custom("example.com", "widgets", "Widget");
        let failing = world.refuse("/apis/example.com/v1/namespaces/stuck/widgets", 500, error);
        let looked = look(failing, everything());
        let chain = looked.chain(0);
        assert!(chain.last().unwrap().starts_with("list of widgets.example.com in stuck: fails"), "{error}: {chain:?}");
    }
    let looked = look(healthy().going("stuck", content_failure("illegal base64 data at input byte 3")), everything());
    assert_eq!(looked.causes(), ["ObjectNotDecodable"], "{:#?}", looked.report);
    let chain = looked.chain(0);
    assert!(chain.last().unwrap().starts_with("Secrets of stuck: are the only kind that was not listed"), "{chain:?}");
    assert_eq!(looked.commands()[0], "kubectl get secrets -n stuck -o name");
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    let steps = format!("{:?}", looked.report.roots[0].finding.remedy.steps);
    assert!(steps.contains("AllowUnsafeMalformedObjectDeletion"), "{steps}");
    // What fails, may not be listed, or is not known is not said to be listed.
    let vague = || healthy().going("stuck", content_failure("illegal base64 data at input byte 3"));
    for path in ["pods", "persistentvolumeclaims"] {
        for status in [403, 500] {
            let failing = vague().refuse(&format!("/api/v1/namespaces/stuck/{path}"), status, "no");
            let chain = format!("{:?}", look(failing, everything()).report.roots[0].finding.chain);
            assert!(!chain.contains("every other kind can be listed"), "{path} {status}: {chain}");
        }
    }
    let stale =
        json!({"metadata": {"name": "gone.example.com"}, "versions": [{"version": "v1", "freshness": "Stale"}]});
    let stale = vague().change_groups(|groups| groups.push(stale));
    let chain = format!("{:?}", look(stale, everything()).report.roots[0].finding.chain);
    assert!(!chain.contains("every other kind can be listed"), "{chain}");
}

#[test]
fn a_budget_that_the_words_name_is_the_root() {
    let words = "error when evicting pods/\"db-0\" -n \"shop\": Cannot evict pod as it would violate the pod's disruption budget.";
    let budget = |allowed: i64| {
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "db", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        })
    };
    let pod = json!({"kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop", "uid": "db-0", "labels": {"app": "db"}},
        "spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}});
    let looked = asked(widget(words).with(budget(0)).with(pod.clone()));
    assert_eq!(looked.causes(), ["DrainBudgetAllowsNone"], "{:#?}", looked.report);
    assert!(
        looked.chain(0).last().unwrap().starts_with("PodDisruptionBudget shop/db: allows 0"),
        "{:?}",
        looked.chain(0)
    );
    assert_eq!(asked(widget(words).with(budget(1)).with(pod.clone())).causes(), ["FinalizerControllerFailing"]);
    // One that allows it stands before the one that does not.
    let mut first = budget(1);
    first["metadata"]["name"] = "a".into();
    let both = asked(widget(words).with(first).with(budget(0)).with(pod));
    assert_eq!(both.causes(), ["DrainBudgetAllowsNone"], "{:#?}", both.report);
}

/// It went by itself after 95 seconds, as seen on a 1.36 API server.
#[test]
fn a_webhook_that_is_slow_is_named_and_nothing_is_stuck_yet() {
    let slow = |error: &str, namespaces: Value| {
        healthy().going("stuck", content_failure(error)).webhook("DELETE", "", "configmaps").change(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            "guard",
            |one| {
                one["webhooks"][0]["failurePolicy"] = "Ignore".into();
                one["webhooks"][0]["namespaceSelector"] = namespaces;
            },
        )
    };
    // Both are written when a request was not answered within a minute.
    let broken_off = "stream error: stream ID 35; INTERNAL_ERROR; received from peer";
    let timed_out =
        "the server was unable to return a response in the time allotted, but may still be processing the request";
    for error in [broken_off, timed_out] {
        let looked = look(slow(error, json!({})), everything());
        assert_eq!(looked.causes(), ["WebhookSlow"], "{error}: {:#?}", looked.report);
        assert_eq!(looked.report.verdict, Verdict::Progressing);
        assert!(
            looked.chain(0)[1].starts_with("ValidatingWebhookConfiguration guard: its webhook"),
            "{:?}",
            looked.chain(0)
        );
        let elsewhere = look(slow(error, json!({"matchLabels": {"tier": "test"}})), everything());
        assert_eq!(elsewhere.causes(), ["NamespaceContentFailure"], "{:#?}", elsewhere.report);
        assert_eq!(elsewhere.report.verdict, Verdict::Progressing, "the next request reaches more");
        // One that answers takes its time as well, and fails nothing.
        let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        let answers = slow(error, json!({})).service("guard", "guard", Some("node-1"));
        let looked = look(
            answers.change(path, "guard", |one| one["webhooks"][0]["failurePolicy"] = "Fail".into()),
            everything(),
        );
        assert_eq!((looked.causes(), looked.report.verdict), (vec!["WebhookSlow"], Verdict::Progressing));
        assert!(
            looked.chain(0)[1].contains("(failurePolicy: Fail) is called for each deletion"),
            "{:?}",
            looked.chain(0)
        );
    }
}

#[test]
fn a_conversion_that_was_repaired_is_outdated() {
    let error = "conversion webhook for example.com/v2, Kind=Widget failed: Post \"https://conv.mon.svc:443/c?timeout=30s\": \
        service \"conv\" not found";
    let by_webhook =
        json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "mon", "name": "conv"}}}});
    let world = healthy().going("d1", content_failure(error));
    let repaired = world.with(crate::admission::crd(by_webhook, &["v1"])).service("mon", "conv", Some("node-a"));
    assert_eq!(look(repaired, everything()).causes(), ["NamespaceConditionOutdated"]);
}

/// A list that is refused says so once, and each sentence that needs it rests on its words.
#[test]
fn what_cannot_be_listed_is_not_said_to_be_gone() {
    const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
    let conversion =
        "conversion webhook for example.com/v2, Kind=NAME failed: Post \"https://conv.mon.svc:443/c\": EOF";
    for (path, sentence, cause) in [
        (
            format!("{ADMISSION}/validatingwebhookconfigurations"),
            "admission webhook \"NAME.example.com\" denied the request: no",
            "WebhookRefusesDelete",
        ),
        (
            format!("{ADMISSION}/validatingadmissionpolicybindings"),
            "ValidatingAdmissionPolicy 'NAME' with binding 'all' denied request: no",
            "PolicyRefusesDelete",
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
            conversion,
            "ConversionWebhookUnavailable",
        ),
    ] {
        let both = ["One", "Two"].map(|name| sentence.replace("NAME", name)).join(", ");
        let world = healthy().going("stuck", content_failure(&both));
        let looked = look(world.refuse(&path, 403, "is forbidden"), everything());
        assert_eq!(looked.causes(), [cause; 2], "{:#?}", looked.report);
    }
}

/// A right is looked up only where the target stands, of whole objects, and not where roles grant it by names.
#[test]
fn a_right_of_which_the_sentence_says_more_than_roles_show_is_no_root() {
    let cannot =
        |rest: &str| format!("x is forbidden: User \"system:serviceaccount:ops:op\" cannot patch resource {rest}");
    let own = cannot("\"widgets\" in API group \"example.com\" in the namespace \"a\"");
    let update = own.replace("cannot patch", "cannot update");
    assert!(asked(widget(&update)).chain(0)[1].contains("the right to update widgets.example.com is granted"));
    // Its role grants update, which is another right than patch.
    let looked = asked(widget(&own));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    let chain = looked.chain(0);
    assert!(chain.last().unwrap().starts_with("ServiceAccount ops/op: may not patch widgets.example.com"), "{chain:?}");
    for rest in [
        "\"widgets/status\" in API group \"example.com\" in the namespace \"a\"",
        "\"widgets\" in API group \"example.com\" in the namespace \"b\"",
        "\"widgets\" in API group \"example.com\" at the cluster scope",
        "\"nodes\" in API group \"\" at the cluster scope",
        "\"secrets\" in API group \"\" in the namespace \"b\"",
    ] {
        let looked = asked(widget(&cannot(rest)));
        assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{rest}: {:#?}", looked.report);
        assert!(!looked.chain(0)[1].contains("is granted"), "{:?}", looked.chain(0));
    }
    let by_name = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "one", "namespace": "a"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["patch"], "resourceNames": ["s"]}]
    });
    let secrets = cannot("\"secrets\" in API group \"\" in the namespace \"a\"");
    let looked = asked(widget(&secrets).with(by_name));
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert_eq!(asked(widget(&secrets)).causes(), ["FinalizerControllerNeedsMissing"]);
}

/// A Secret that was deleted with its namespace cannot be brought back there: what ends it is the one finalizer.
#[test]
fn what_was_deleted_with_its_namespace_is_not_to_be_brought_back() {
    let says = "failed to get secret: secrets \"login\" not found";
    let steps = |looked: &Looked| format!("{:?}", looked.report.roots[0].finding.remedy);
    let patches = |looked: &Looked| looked.commands().iter().any(|one| one.contains("--type=json"));
    let stays = asked(widget(says));
    assert_eq!(stays.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", stays.report);
    assert!(steps(&stays).contains("Bring what is missing back") && !patches(&stays), "{:#?}", stays.report);
    let goes = asked(widget(says).change("/api/v1/namespaces", "a", |one| {
        one["metadata"]["deletionTimestamp"] = "2026-11-20T20:00:00Z".into();
    }));
    assert_eq!(goes.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", goes.report);
    assert!(!steps(&goes).contains("Bring what is missing back") && patches(&goes), "{:#?}", goes.report);
}

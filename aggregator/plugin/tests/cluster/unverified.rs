//! What an Event is worth that anybody can have written.

use findings::{CauseRef, Placeholder, Values};
use serde_json::{Value, json};

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
        let looked = look(recording("volumes-busy").told(says), object("pod", "node-scn", "cwd"));
        let told = looked.report.roots.iter().filter(|root| root.told_by.is_some());
        for step in told.flat_map(|root| root.finding.remedy.steps.iter().skip(1)) {
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
        let looked = look(world.told(AgentEventFixture::fuse(&[POD])), everything());
        assert_eq!(looked.causes(), ["FuseServerNotResponding"]);
        let asked = looked.requests.iter().filter(|path| path.contains("/why-terminating-findings")).count();
        (looked.report.roots[0].told_by.as_ref().unwrap().unverified.clone(), asked)
    };
    const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
    // All policies are listed beside: one may refuse the last update.
    assert_eq!(doubt(dstate().policy(86_400)), (None, 1));
    let (why, asked) = doubt(dstate());
    assert!(why.unwrap().contains("no policy") && asked == 1);
    let (why, _) = doubt(dstate().policy(5));
    assert!(why.unwrap().contains("older than the policy"));
    let (why, asked) = doubt(dstate().policy(86_400).refuse(&format!("{POLICIES}ybindings"), 403, "forbidden"));
    assert!(why.unwrap().contains("not visible to us") && asked == 1);
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
    // Where no agent says anything nobody asks for it.
    assert!(!look(dstate(), everything()).requests.iter().any(|path| path.starts_with(POLICIES)));
}

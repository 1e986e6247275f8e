//! <https://github.com/kubernetes/kubernetes/issues/77086>: foregroundDeletion in spec.finalizers of a Namespace, where no
//! controller looks at it.

use crate::support::*;

fn asked(finalizer: &str) -> Looked {
    let world = healthy().going("delete-me", all_false());
    let world = world.change("/api/v1/namespaces", "delete-me", |one| one["spec"]["finalizers"] = json!([finalizer]));
    look(world, object("ns", "", "delete-me"))
}

#[test]
fn a_finalizer_that_no_program_handles_there_is_removed_through_finalize() {
    let is_put = |command: &String| command.contains("replace --raw /api/v1/namespaces/delete-me/finalize");
    let looked = asked("foregroundDeletion");
    assert_eq!(looked.causes(), ["NamespaceSpecFinalizer"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("no controller handles it there"), "{:?}", looked.chain(0));
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(steps.iter().all(|step| !step.text.contains("install it again")), "{steps:#?}");
    assert!(looked.commands().iter().any(is_put), "{:?}", looked.commands());
    // One that is the last of several: what is before it ends with no comma then.
    let world = healthy().going("delete-me", all_false()).change("/api/v1/namespaces", "delete-me", |one| {
        one["spec"]["finalizers"] = json!(["example.com/a", "foregroundDeletion"]);
    });
    let looked = look(world, object("ns", "", "delete-me"));
    let patch = "kubectl patch --local -f - --type=json -p '[{\"op\":\"test\",\"path\":\"/metadata/uid\",\
        \"value\":\"delete-me\"},{\"op\":\"test\",\"path\":\"/spec/finalizers/1\",\"value\":\"foregroundDeletion\"},\
        {\"op\":\"remove\",\"path\":\"/spec/finalizers/1\"}]' -o json";
    let all: Vec<_> = looked.report.roots.iter().flat_map(|root| &root.finding.remedy.steps).collect();
    assert!(all.iter().any(|step| step.command.as_ref().is_some_and(|it| it.contains(patch))), "{all:#?}");
    let looked = asked("example.com/keep");
    let steps = &looked.report.roots[0].finding.remedy.steps;
    assert!(steps.iter().any(|step| step.text.contains("install it again")), "{steps:#?}");
    let last = steps.last().unwrap();
    assert!(last.text.starts_with("Last resort") && last.command.as_ref().is_some_and(is_put), "{last:#?}");
}

//! The program that set a finalizer, as far as the server recorded it.

use crate::rules::prelude::*;

/// The workload of a pod whose template has the finalizer: then the server records only who made the pod.
pub fn pod_template(case: &mut Case, target: &ObjectRef, meta: &Meta, finalizer: &str) -> Option<ObjectRef> {
    let namespace = target.namespace.as_deref().filter(|_| target.is(known::PODS))?;
    let (known, name) = workload_of_pod(meta)?;
    let workload = case.diagnosis.silently(case.lister.get::<Workload>(known, Some(namespace), name))?;
    let is_set = workload.spec.template.metadata.finalizers.iter().any(|one| one == finalizer);
    is_set.then(|| ObjectRef::namespaced(known, namespace, name))
}

/// Names that say nothing of the program: what many binaries are called.
const ANYBODY: &[&str] = &[
    "manager", "main", "operator", "controller", "app", "kopf", "unknown", "before-first-apply", "Go-http-client",
    "OpenAPI-Generator", "python-requests", "node-fetch", "okhttp", "Mozilla", "curl", "kube-apiserver",
    "kube-controller-manager",
];

/// Programs that apply what others wrote, and have no kinds of their own.
const MANIFEST_APPLIERS: &[&str] =
    &["helm", "Helm", "HashiCorp", "Terraform", "pulumi-kubernetes", "argocd-controller"];

/// Programs that apply the objects of others, each with the group of its own kinds. Rancher has a helm-controller too.
const APPLIERS: &[(&str, &str)] = &[
    ("kustomize-controller", "kustomize.toolkit.fluxcd.io"),
    ("helm-controller", "helm.toolkit.fluxcd.io"),
    ("helm-controller", "helm.cattle.io"),
];

/// The name of the program, when it distinguishes it from others.
pub fn program<'m>(meta: &'m Meta, finalizer: &str, group: &str) -> Option<&'m str> {
    setters(meta, finalizer).find(|name| is_telling(name) && !applies(name, group))
}

/// Whether the server recorded who set it, and all of them only apply manifests: then it was written there.
pub fn is_from_manifest(meta: &Meta, finalizer: &str, group: &str) -> bool {
    let mut names = setters(meta, finalizer).peekable();
    names.peek().is_some() && names.all(|name| applies(name, group))
}

fn setters<'m>(meta: &'m Meta, finalizer: &str) -> impl Iterator<Item = &'m str> {
    let set = move |managed: &&Managed| managed.fields.finalizers.iter().any(|one| one == finalizer);
    let names = meta.managed_fields.iter().filter(set).map(|managed| managed.manager.as_str());
    // Flux's controllers call themselves so where they patch (`StatusManager` in the main.go of each).
    names.map(|name| name.strip_prefix("gotk-").unwrap_or(name))
}

/// Whether it names one program among others.
pub fn is_telling(name: &str) -> bool {
    name.len() > 2 && !ANYBODY.contains(&name)
}

/// The command by which a person set it, if only such did. The others write what stands in a manifest.
pub fn typed_with<'m>(meta: &'m Meta, finalizer: &str) -> Option<&'m str> {
    let mut names = setters(meta, finalizer).peekable();
    let first = *names.peek()?;
    names.all(|name| is_typed(name) && (name.ends_with("-edit") || name.ends_with("-patch"))).then_some(first)
}

/// Whether it is a command that people type.
fn is_typed(name: &str) -> bool {
    name.starts_with("kubectl") || name.starts_with("oc-") || name == "oc"
}

/// Whether it only writes what others wrote, for an object of this group.
fn applies(name: &str, group: &str) -> bool {
    let is_others = APPLIERS.iter().any(|(applier, _)| *applier == name) && !APPLIERS.contains(&(name, group));
    is_typed(name) || is_others || MANIFEST_APPLIERS.contains(&name)
}

/// Whether a workload is that program: by its name or its account's, or by what runs in it.
pub fn is_it(program: &str, workload: &str, object: &Workload) -> bool {
    let spec = &object.spec.template.spec;
    let images = spec.containers.iter().map(|one| base(&one.image));
    let containers = spec.containers.iter().map(|one| one.name.as_str());
    // Charts put the release before the name.
    let is_named = |name: &str| {
        name == program || name.strip_suffix(program).is_some_and(|release| release.len() > 1 && release.ends_with('-'))
    };
    is_named(workload) || images.chain(containers).any(|name| name == program)
}

/// `widget-operator` of `registry.example.com:5000/team/widget-operator:v1@sha256:…`.
fn base(image: &str) -> &str {
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split(['@', ':']).next().unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_last_name() {
        assert_eq!(base("registry.example.com:5000/team/widget-operator:v1@sha256:00"), "widget-operator");
        assert_eq!(base("widget-operator"), "widget-operator");
    }

    #[test]
    fn a_name_that_many_have_tells_nothing() {
        for name in
            ["manager", "kubectl-client-side-apply", "kubectl", "helm", "helm-controller", "kustomize-controller", ""]
        {
            assert!(!is_telling(name) || applies(name, "example.com"), "{name}");
        }
        assert!(is_telling("widget-operator") && !applies("widget-operator", "example.com"));
        assert!(APPLIERS.iter().all(|(name, group)| !applies(name, group)), "their own kinds");
    }

    #[test]
    fn a_workload_is_a_program_by_its_whole_name() {
        let is = |workload: &str| is_it("external-secrets", workload, &Workload::default());
        assert!(is("external-secrets") && is("prod-external-secrets"));
        assert!(!is("external-secrets-webhook") && !is("-external-secrets") && !is("myexternal-secrets"));
    }
}

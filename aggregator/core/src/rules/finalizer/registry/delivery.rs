//! Finalizers of what installs and delivers: GitOps, operator catalogues, certificates, secrets, pipelines.

use findings::cause;

use super::entry::{Back, Destroyed, KnownFinalizer, Pattern::*, UsedBy};
use super::{in_use, known, outside};
use crate::state::Field;

pub static KNOWN: &[KnownFinalizer] = &[
    outside(&[Domain("acme.cert-manager.io")])
        .on("Challenge")
        .released_by("cert-manager")
        .when("the DNS record or the solver's pod is removed")
        .lost("A TXT record or solver pod may stay; here that is usually a small harm")
        .source("cert-manager/cert-manager: pkg/controller/acmechallenges/sync.go"),
    known(&[Is("istio-finalizer.install.istio.io")])
        .comes_first()
        .on("IstioOperator")
        .released_by("the Istio operator")
        .when("it has removed the control plane")
        .lost("Pieces of the control plane stay, among them webhooks that refuse new pods")
        .source("istio/istio: operator/pkg/controller/istiocontrolplane/istiocontrolplane_controller.go"),
    known(&[Is("argocd.argoproj.io/hook-finalizer")])
        .on("Jobs, Pods and other objects that are hooks of a sync")
        .released_by("Argo CD")
        .program("argocd-application-controller")
        .when("the phase of the sync that the hook belongs to is complete")
        .lost("The sync can miss that the hook has ended, and runs it again")
        .source("argoproj/argo-cd: gitops-engine/pkg/sync/hook/hook.go"),
    KnownFinalizer::new(
        &[StartsWith("pre-delete-finalizer.argocd.argoproj.io"), StartsWith("post-delete-finalizer.argocd.argoproj.io")],
        &cause::ARGO_CD_FINALIZER,
    )
    .comes_first()
    .on("Application that has such hooks")
    .released_by("Argo CD")
    .program("argocd-application-controller")
    .when("the hooks before, or after, the deletion of what the Application manages have run and are cleaned up")
    .lost(
        "The hooks are skipped, mostly a backup or a clean-up; with resources-finalizer.argocd.argoproj.io Argo CD then \
            deletes all that the Application manages",
    )
    .source("argoproj/argo-cd: controller/appcontroller.go"),
    KnownFinalizer::new(&[StartsWith("resources-finalizer.argocd.argoproj.io")], &cause::ARGO_CD_FINALIZER)
        .comes_first()
        .only(&["Application"])
        .released_by("Argo CD")
        // The server sets it too, at a deletion in cascade, and an ApplicationSet's controller from the start.
        .program("argocd-application-controller")
        .when("every object that the Application manages is deleted")
        .lost("What the Application manages stays and keeps running")
        .source("argoproj/argo-cd: pkg/apis/application/v1alpha1/application_defaults.go"),
    known(&[StartsWith("resources-finalizer.argocd.argoproj.io")])
        .only(&["ApplicationSet"])
        .released_by("Argo CD's ApplicationSet controller")
        .program("argocd-applicationset-controller")
        .when("its Applications are kept or deleted by its policy; never before Argo CD 2.10")
        .lost("Its Applications are deleted, with all they manage, even if its policy keeps them")
        .source("argoproj/argo-cd: applicationset/controllers/applicationset_controller.go"),
    // Whatever else waits for Argo CD is deleted once it runs.
    in_use(&[StartsWith("resources-finalizer.argocd.argoproj.io")])
        .comes_first()
        .only(&["AppProject"])
        .released_by("Argo CD")
        .program("argocd-application-controller")
        .used_by(&[UsedBy::new("", "applications", Back::Field(Field::Project)).anywhere()])
        .when("no Application names the project")
        .lost("Applications that name the project can no longer be deleted in cascade: Argo CD finds no project for them")
        .source("argoproj/argo-cd: controller/appcontroller.go"),
    outside(&[Is("finalizers.fluxcd.io")])
        .on("Kustomization, HelmRelease, GitRepository, Terraform, … of Flux")
        .released_by("Flux's controller of that kind")
        .when("what it has applied is pruned: objects, a Helm release, artifacts")
        .lost("What it has applied stays: objects, a Helm release, cloud resources of Terraform")
        .source("fluxcd/kustomize-controller: api/v1/kustomization_types.go"),
    known(&[Is("operators.coreos.com/csv-cleanup")])
        .on("ClusterServiceVersion")
        .released_by("OLM's olm-operator")
        .when("the operator's ClusterRoles, ClusterRoleBindings and webhook configurations are deleted")
        .lost("Webhook configurations of an operator that is gone stay, and refuse requests")
        .source("operator-framework/operator-lifecycle-manager: pkg/controller/operators/olm/operator.go"),
    in_use(&[Is("secretstore.externalsecrets.io/finalizer")])
        .on("SecretStore, ClusterSecretStore")
        .used_by(&[UsedBy::new("", "pushsecrets", Back::Field(Field::PushedTo))])
        .released_by("External Secrets Operator")
        .when("no PushSecret with deletionPolicy Delete refers to the store")
        .lost("Secrets that were pushed with it can no longer be deleted from the provider")
        .source("external-secrets/external-secrets: pkg/controllers/secretstore/common.go"),
    outside(&[Is("pushsecret.externalsecrets.io/finalizer"), Is("generatorstate.externalsecrets.io/finalizer")])
        .on("PushSecret, GeneratorState")
        .released_by("External Secrets Operator")
        .when("the secret is deleted from its provider")
        .destroys(Destroyed::data("provider's secret of").of(&["PushSecret"]))
        .lost("The secret stays in its provider")
        .source("external-secrets/external-secrets: pkg/controllers/pushsecret/pushsecret_controller.go"),
    known(&[StartsWith("externalsecrets.external-secrets.io/")])
        .on("ExternalSecret, ClusterExternalSecret, and the Namespaces that a ClusterExternalSecret selects")
        .released_by("External Secrets Operator")
        .when("the Secrets, or the ExternalSecrets, that it has created are deleted")
        .lost("Secrets and ExternalSecrets stay, without anybody who renews or deletes them")
        .source(
            "external-secrets/external-secrets: \
                pkg/controllers/clusterexternalsecret/clusterexternalsecret_controller.go",
        ),
    known(&[Domain("chains.tekton.dev")])
        .by_another()
        .on("TaskRun, PipelineRun")
        .released_by("Tekton Chains")
        .when("the run has ended and is signed")
        .lost("The run's result is never signed: its attestation is missing")
        .source("tektoncd/chains: pkg/reconciler/taskrun/taskrun.go"),
    known(&[Domain("results.tekton.dev")])
        .by_another()
        .on("TaskRun, PipelineRun, CustomRun")
        .released_by("Tekton Results")
        .when("the run and its logs are stored")
        .lost("The run's record and logs are lost")
        .source("tektoncd/results: pkg/watcher/reconciler/taskrun/controller.go"),
    known(&[Domain("operator.tekton.dev")])
        .on("TektonConfig, TektonPipeline, TektonInstallerSet, …")
        .released_by("the Tekton operator")
        .when("what it has installed is deleted")
        .lost("Deployments, webhooks and CRDs of Tekton stay")
        .source("tektoncd/operator: pkg/reconciler/kubernetes/tektoninstallerset/tektoninstallerset.go"),
    outside(&[Domain("actions.summerwind.dev")])
        .on("Runner, and its Pod")
        .released_by("actions-runner-controller")
        .when("GitHub no longer has the runner registered")
        .lost("GitHub keeps a dead runner, and jobs may be given to it")
        .source("actions/actions-runner-controller: controllers/actions.summerwind.net/runner_pod_controller.go"),
    outside(&[Domain("actions.github.com")])
        .on("AutoscalingRunnerSet, EphemeralRunnerSet, EphemeralRunner, and their Roles and Secrets")
        .released_by("the controller of gha-runner-scale-set")
        .when("GitHub no longer has the runner registered (it waits for a job that runs), and its pod is deleted")
        .lost("GitHub keeps a dead runner or scale set, and a job that runs is not waited for")
        .source("actions/actions-runner-controller: controllers/actions.github.com/ephemeralrunner_controller.go"),
];

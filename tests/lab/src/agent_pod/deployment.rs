//! What stands in `deploy/base`.

use std::{fs, path::Path};

use anyhow::Context as _;
use k8s_openapi::api::{apps::v1::DaemonSet, core::v1::PodSpec};
use serde_json::Value;

use super::Settings;

/// The agent's DaemonSet and the image it runs.
#[derive(Clone, Debug)]
pub struct Deployment {
    daemon_set: DaemonSet,
    image: String,
}

impl Deployment {
    /// Reads the repository's.
    pub fn read() -> anyhow::Result<Self> {
        let daemon_set = objects("daemonset.yaml")?.into_iter().next().context("daemonset.yaml is empty")?;
        let daemon_set: DaemonSet = serde_json::from_value(daemon_set).context("daemonset.yaml is no DaemonSet")?;
        let kustomization = objects("kustomization.yaml")?.into_iter().next().context("kustomization.yaml is empty")?;
        let image = |key: &str| {
            let word = kustomization.pointer(&format!("/images/0/{key}")).and_then(Value::as_str);
            word.with_context(|| format!("kustomization.yaml names no images[0].{key}"))
        };
        Ok(Self { image: format!("{}:{}", image("newName")?, image("newTag")?), daemon_set })
    }

    /// The image, by the name under which it is imported.
    pub fn image(&self) -> &str {
        &self.image
    }

    /// The agent's namespace.
    pub fn namespace(&self) -> &str {
        self.daemon_set.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// How its reader runs: who may look at every process.
    pub fn reader(&self) -> anyhow::Result<Settings> {
        self.settings("reader")
    }

    /// How its talker runs: who has the token.
    pub fn talker(&self) -> anyhow::Result<Settings> {
        self.settings("talker")
    }

    fn settings(&self, container: &str) -> anyhow::Result<Settings> {
        let pod = self.pod()?;
        let found = pod.containers.iter().find(|found| found.name == container);
        Settings::new(pod, found.with_context(|| format!("the DaemonSet has no container {container}"))?)
    }

    fn pod(&self) -> anyhow::Result<&PodSpec> {
        let pod = self.daemon_set.spec.template.spec.as_ref();
        pod.context("the DaemonSet has no pod template")
    }
}

/// The objects in one file of `deploy/base`.
fn objects(file: &str) -> anyhow::Result<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/base").join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    serde_saphyr::from_multiple(&text).with_context(|| format!("parse {}", path.display()))
}

/// The policy that lets only an agent speak as one, and its binding.
pub(crate) fn event_policy() -> anyhow::Result<Vec<Value>> {
    objects("../event-policy/policy.yaml")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
    use k8s_openapi::api::core::v1::{Namespace, ResourceQuota, ServiceAccount};
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::json;

    use super::*;

    /// A field that the type does not know is lost on the way there and back, so a misspelt one shows.
    fn keeps_every_field<T: Serialize + DeserializeOwned>(object: &Value) {
        let typed: T = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(&serde_json::to_value(typed).unwrap(), object);
    }

    fn one(file: &str) -> Value {
        let objects = objects(file).unwrap();
        assert_eq!(objects.len(), 1, "{file}");
        objects.into_iter().next().unwrap()
    }

    #[test]
    fn every_field_is_one_that_kubernetes_knows() {
        keeps_every_field::<Namespace>(&one("namespace.yaml"));
        keeps_every_field::<ServiceAccount>(&one("service-account.yaml"));
        keeps_every_field::<ResourceQuota>(&one("quota.yaml"));
        keeps_every_field::<NetworkPolicy>(&one("network-policy.yaml"));
        keeps_every_field::<DaemonSet>(&one("daemonset.yaml"));
        for object in objects("rbac.yaml").unwrap() {
            match object["kind"].as_str().unwrap() {
                "ClusterRole" => keeps_every_field::<ClusterRole>(&object),
                "ClusterRoleBinding" => keeps_every_field::<ClusterRoleBinding>(&object),
                "Role" => keeps_every_field::<Role>(&object),
                "RoleBinding" => keeps_every_field::<RoleBinding>(&object),
                other => panic!("{other} is not known here"),
            }
        }
    }

    #[test]
    fn every_manifest_is_applied() {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/base");
        let files = fs::read_dir(base).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut manifests: Vec<String> = files.filter(|name| name != "kustomization.yaml").collect();
        manifests.sort();
        let resources = one("kustomization.yaml")["resources"].clone();
        let mut applied: Vec<String> = serde_json::from_value(resources).unwrap();
        applied.sort();
        assert_eq!(applied, manifests);
    }

    /// A selector that matches no pod would protect nothing, and one without a peer would admit all traffic.
    #[test]
    fn one_namespace_may_scrape_the_agent_and_nobody_else_reaches_it() {
        let policy = one("network-policy.yaml");
        let deployment = Deployment::read().unwrap();
        let agents = deployment.daemon_set.spec.selector.match_labels.clone();
        assert_eq!(policy["metadata"]["namespace"], deployment.namespace());
        assert_eq!(
            policy["spec"],
            json!({
                "podSelector": {"matchLabels": agents},
                "policyTypes": ["Ingress"],
                "ingress": [{
                    "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}],
                    "ports": [{"protocol": "TCP", "port": 9753}],
                }],
            })
        );
        let containers = &deployment.pod().unwrap().containers;
        let ports = containers.iter().flat_map(|container| container.ports.iter().flatten());
        let ports: Vec<_> = ports.map(|port| (port.name.as_deref(), port.container_port)).collect();
        assert_eq!(ports, [(Some("metrics"), 9753)], "a port that the policy does not name is closed");
    }

    /// What the policy compares with is what the agent writes and runs as.
    #[test]
    fn the_policy_lets_only_this_agent_write_its_events() {
        let objects = event_policy().unwrap();
        let [policy, binding] = objects.as_slice() else { panic!("{objects:?}") };
        keeps_every_field::<ValidatingAdmissionPolicy>(policy);
        keeps_every_field::<ValidatingAdmissionPolicyBinding>(binding);
        assert_eq!(policy["spec"]["failurePolicy"], "Fail");
        assert_eq!(binding["spec"], json!({"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}));
        let groups = &policy["spec"]["matchConstraints"]["resourceRules"][0]["apiGroups"];
        assert_eq!(groups, &json!(["", "events.k8s.io"]));
        let ours = policy["spec"]["matchConditions"][0]["expression"].as_str().unwrap();
        assert_eq!(ours.matches("== 'why-terminating/agent'").count(), 4, "{ours}");
        let account = &one("service-account.yaml")["metadata"];
        let (namespace, name) = (account["namespace"].as_str().unwrap(), account["name"].as_str().unwrap());
        let who = policy["spec"]["validations"][0]["expression"].as_str().unwrap();
        assert_eq!(who, format!("request.userInfo.username == 'system:serviceaccount:{namespace}:{name}'"));
    }

    #[test]
    fn the_policy_is_where_api_servers_know_it() {
        let parts = |folder: &str| objects(&format!("../{folder}kustomization.yaml")).unwrap()[0]["components"].clone();
        assert_eq!(parts(""), json!(["event-policy"]));
        for variant in ["kernel-stacks/", "kubelet-metrics/"] {
            assert_eq!(parts(variant), json!(["../event-policy"]));
        }
        assert!(parts("before-1.30/").is_null());
    }

    /// Everything the agent may do in the cluster. Events are all it writes.
    #[test]
    fn it_may_read_and_write_events_and_nothing_else() {
        let objects = objects("rbac.yaml").unwrap();
        let rules = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap()["rules"].clone();
        assert_eq!(
            rules("ClusterRole"),
            json!([
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
                {"apiGroups": [""], "resources": ["nodes", "persistentvolumes"], "verbs": ["get"]},
            ])
        );
        assert_eq!(
            rules("Role"),
            json!([{"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["get", "list", "create", "patch"]}])
        );
        assert_eq!(objects.len(), 4);
        for binding in objects.iter().filter(|object| object["kind"].as_str().unwrap().ends_with("Binding")) {
            let role = objects
                .iter()
                .find(|object| object["kind"] == binding["roleRef"]["kind"])
                .map(|role| (role["metadata"]["name"].clone(), role["metadata"]["namespace"].clone()));
            let bound = (binding["roleRef"]["name"].clone(), binding["metadata"]["namespace"].clone());
            assert_eq!(role, Some(bound));
            let account = one("service-account.yaml")["metadata"].clone();
            let subject = &binding["subjects"][0];
            assert_eq!((&subject["name"], &subject["namespace"]), (&account["name"], &account["namespace"]));
        }
    }

    #[test]
    fn the_namespace_admits_the_pod() {
        let namespace = one("namespace.yaml");
        assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
        assert_eq!(namespace["metadata"]["name"], Deployment::read().unwrap().namespace());
    }

    /// The least they can do with; what each right is for is measured in `tests/scenarios`.
    #[test]
    fn the_containers_have_these_rights_and_no_others() {
        let deployment = Deployment::read().unwrap();
        let pod = deployment.pod().unwrap();
        let [reader, talker] = pod.containers.as_slice() else { panic!("there are two roles") };
        let security = |container: &k8s_openapi::api::core::v1::Container| {
            serde_json::to_value(&container.security_context).unwrap()
        };
        assert_eq!(
            security(reader),
            json!({
                "runAsUser": 0, "runAsGroup": 0, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE", "DAC_READ_SEARCH"]},
                "appArmorProfile": {"type": "Unconfined"}, "seLinuxOptions": {"type": "spc_t"},
            })
        );
        assert_eq!(
            security(talker),
            json!({
                "runAsUser": 65532, "runAsGroup": 65532, "runAsNonRoot": true, "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}, "seLinuxOptions": {"type": "spc_t"},
            })
        );
        assert_eq!(
            serde_json::to_value(&pod.security_context).unwrap(),
            json!({"seccompProfile": {"type": "RuntimeDefault"}})
        );
        assert_eq!((pod.host_pid, pod.host_network, pod.host_ipc), (Some(true), None, None));
    }

    /// The token is the talker's only, and no volume is the host's: that would keep pods' mounts.
    #[test]
    fn the_volumes_are_the_token_and_the_socket() {
        let deployment = Deployment::read().unwrap();
        let pod = deployment.pod().unwrap();
        assert_eq!(pod.automount_service_account_token, Some(false));
        let volumes = serde_json::to_value(&pod.volumes).unwrap();
        let kinds: Vec<_> = volumes.as_array().unwrap().iter().map(|volume| (&volume["name"], volume)).collect();
        assert!(kinds.len() == 2 && kinds[0].1["emptyDir"].is_object() && kinds[1].1["projected"].is_object());
        let names = |container: usize| -> Vec<_> {
            let mounts = pod.containers[container].volume_mounts.iter().flatten();
            mounts.map(|mount| mount.name.as_str()).collect()
        };
        assert_eq!((names(0), names(1)), (vec!["run"], vec!["run", "token"]));
    }
}

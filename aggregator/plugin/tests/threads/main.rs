//! Real threads of users whose objects stayed, one file each: its address, the objects that the thread prints and no others,
//! the answer that would have helped. Where those objects do not decide, the right answer is Unknown, with the question that
//! would decide.

#[cfg(test)]
mod actions_runner_controller_1369;
#[cfg(test)]
mod argo_cd_19571;
#[cfg(test)]
mod argo_cd_20296;
#[cfg(test)]
mod argo_cd_7330;
#[cfg(test)]
mod aws_application_networking_k8s_115;
#[cfg(test)]
mod aws_load_balancer_controller_1629;
#[cfg(test)]
mod aws_load_balancer_controller_2341;
#[cfg(test)]
mod aws_network_policy_agent_568;
#[cfg(test)]
mod calico_6629;
#[cfg(test)]
mod cluster_api_10661;
#[cfg(test)]
mod cni_plugins_47;
#[cfg(test)]
mod crossplane_5849;
#[cfg(test)]
mod external_attacher_235;
#[cfg(test)]
mod external_attacher_66;
#[cfg(test)]
mod external_secrets_6677;
#[cfg(test)]
mod flux2_632;
#[cfg(test)]
mod harvester_8321;
#[cfg(test)]
mod helm_charts_2726;
#[cfg(test)]
mod helm_controller_554;
#[cfg(test)]
mod istio_18815;
#[cfg(test)]
mod istio_29451;
#[cfg(test)]
mod karpenter_2219;
#[cfg(test)]
mod karpenter_2802;
#[cfg(test)]
mod karpenter_3144;
#[cfg(test)]
mod karpenter_provider_aws_1166;
#[cfg(test)]
mod keda_1231;
#[cfg(test)]
mod kubernetes_113426;
#[cfg(test)]
mod kubernetes_118261;
#[cfg(test)]
mod kubernetes_129883;
#[cfg(test)]
mod kubernetes_60538;
#[cfg(test)]
mod kubernetes_60807;
#[cfg(test)]
mod kubernetes_71925;
#[cfg(test)]
mod kubernetes_72335;
#[cfg(test)]
mod kubernetes_75788;
#[cfg(test)]
mod kubernetes_83332;
#[cfg(test)]
mod kubevirt_13098;
#[cfg(test)]
mod kubevirt_1491;
#[cfg(test)]
mod longhorn_3457;
#[cfg(test)]
mod longhorn_5319;
#[cfg(test)]
mod multus_cni_669;
#[cfg(test)]
mod operator_lifecycle_manager_2901;
#[cfg(test)]
mod operator_lifecycle_manager_3356;
#[cfg(test)]
mod osm_4466;
#[cfg(test)]
mod pixie_1917;
#[cfg(test)]
mod rancher_36450;
#[cfg(test)]
mod redpanda_9130;
#[cfg(test)]
mod remove_empty_ns_operator_5;
#[cfg(test)]
mod rook_12218;
#[cfg(test)]
mod rook_17059;
#[cfg(test)]
#[path = "../cluster/support/mod.rs"]
#[allow(dead_code, unused_imports)]
mod support;
#[cfg(test)]
mod system_tools_26;
#[cfg(test)]
mod tektoncd_operator_3472;
#[cfg(test)]
mod terraform_provider_flux_67;
#[cfg(test)]
mod tigera_operator_3413;
#[cfg(test)]
mod topolvm_310;
#[cfg(test)]
mod trident_572;

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// An undeclared file would be a test that never runs.
    #[test]
    fn each_file_is_declared_and_begins_with_its_thread() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/threads");
        let declared = std::fs::read_to_string(folder.join("main.rs")).unwrap();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if name == "main" {
                continue;
            }
            assert!(declared.contains(&format!("mod {name};")), "{name} is not declared");
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.starts_with("//! <https://github.com/"), "{name} does not begin with its thread");
        }
    }
}

//! Real threads of users whose objects stayed, one file each: its address, the objects that the thread prints and no others,
//! the answer that would have helped. Where those objects do not decide, the right answer is Unknown, with the question that
//! would decide.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "for tests")]

mod actions_runner_controller_1369;
mod argo_cd_19571;
mod argo_cd_20296;
mod argo_cd_7330;
mod aws_application_networking_k8s_115;
mod aws_load_balancer_controller_1629;
mod aws_load_balancer_controller_2200;
mod aws_load_balancer_controller_2341;
mod aws_network_policy_agent_568;
mod azure_service_operator_4679;
mod calico_6629;
mod cluster_api_10661;
mod cluster_api_13508;
mod cni_plugins_47;
mod community_1655;
mod crossplane_5849;
mod crossplane_5962;
mod devworkspace_operator_877;
mod external_attacher_217;
mod external_attacher_235;
mod external_attacher_66;
mod external_secrets_6677;
mod external_snapshotter_349;
mod flink_kubernetes_operator_1110;
mod flux2_632;
mod flux2_997;
mod gke_autoneg_controller_10;
mod harvester_8321;
mod helm_charts_2726;
mod helm_controller_554;
mod istio_18815;
mod istio_29451;
mod juicefs_csi_driver_340;
mod k8s_config_connector_375;
mod karpenter_2219;
mod karpenter_2802;
mod karpenter_3144;
mod karpenter_provider_aws_1166;
mod keda_1231;
mod kuadrant_operator_169;
mod kube_arangodb_220;
mod kuberay_4767;
mod kubernetes_100855;
mod kubernetes_113426;
mod kubernetes_118261;
mod kubernetes_129883;
mod kubernetes_60538;
mod kubernetes_60807;
mod kubernetes_71925;
mod kubernetes_72335;
mod kubernetes_75788;
mod kubernetes_77086;
mod kubernetes_83332;
mod kubevirt_13098;
mod kubevirt_1491;
mod kyverno_8815;
mod longhorn_3457;
mod longhorn_5319;
mod multus_cni_669;
mod ocs_operator_81;
mod operator_lifecycle_manager_2901;
mod operator_lifecycle_manager_3356;
mod osm_4466;
mod percona_server_mongodb_operator_2137;
mod pixie_1917;
mod rancher_36450;
mod rancher_38442;
mod rancher_40456;
mod redpanda_9130;
mod remove_empty_ns_operator_5;
mod rook_12218;
mod rook_17059;
mod sig_storage_lib_external_provisioner_20;
mod strimzi_kafka_operator_9975;
#[path = "../cluster/support/mod.rs"]
#[allow(dead_code, unused_imports)]
mod support;
mod system_tools_26;
mod tektoncd_operator_3472;
mod terraform_provider_flux_67;
mod tigera_operator_3413;
mod topolvm_310;
mod trident_572;
mod vcluster_1163;
mod velero_6785;
mod velero_8120;

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

//! Finalizers of Kubernetes itself and of the projects of its SIGs.

use findings::cause;

use super::entry::{Back, CORE, Destroyed, KnownFinalizer, Pattern::*, UsedBy};
use super::{NODE_CLAIMS, in_use, outside};
use crate::state::Field;

/// Machines of Cluster API's infrastructure providers.
const MACHINES: &[&str] = &[
    "AWSMachine", "AzureMachine", "GCPMachine", "VSphereMachine", "OpenStackMachine", "DockerMachine", "Metal3Machine",
];

pub static KNOWN: &[KnownFinalizer] = &[
    KnownFinalizer::new(&[Is("batch.kubernetes.io/job-tracking")], &cause::JOB_TRACKING_FINALIZER)
        .in_controller_manager()
        .only(&["Pod"])
        .when("its Job has counted the pod")
        .lost("The Job counts wrong: it may run the work again or never finish")
        .source("kubernetes/kubernetes: pkg/controller/job/job_controller.go"),
    in_use(&[Is("resource.kubernetes.io/delete-protection")])
        .in_controller_manager()
        .only(&["ResourceClaim"])
        .used_by(&[UsedBy::new(CORE, "pods", Back::Field(Field::DeviceClaim)).until_done().or_others()])
        .when("the claim is no longer allocated nor reserved")
        .lost("The device stays taken and cannot be allocated again")
        .source("kubernetes/kubernetes: pkg/controller/resourceclaim/controller.go"),
    in_use(&[Is("networking.k8s.io/service-cidr-finalizer")])
        .in_controller_manager()
        .only(&["ServiceCIDR"])
        .when("no IPAddress is left in its range, or another ServiceCIDR has them too")
        .lost("Services keep addresses of an unmanaged range")
        .source("kubernetes/kubernetes: pkg/controller/servicecidrs/servicecidrs_controller.go"),
    in_use(&[Is("kubernetes.io/vac-protection")])
        .in_controller_manager()
        .only(&["VolumeAttributesClass"])
        .used_by(&[
            UsedBy::new(CORE, "persistentvolumeclaims", Back::Field(Field::AttributesClass)),
            UsedBy::new(CORE, "persistentvolumes", Back::Field(Field::AttributesClass)),
        ])
        .when("no claim and no volume names the class")
        .lost("Claims name a class that does not exist")
        .source("kubernetes/kubernetes: pkg/volume/util/finalizer.go"),
    in_use(&[Is("scheduling.k8s.io/podgroup-protection")])
        .in_controller_manager()
        .only(&["PodGroup"])
        .used_by(&[UsedBy::new(CORE, "pods", Back::Field(Field::PodGroup)).until_done()])
        .when("every pod of the group has ended")
        .lost("Pods name a group that does not exist")
        .source(
            "kubernetes/kubernetes: pkg/controller/scheduling/podgroupprotection/podgroup_protection_controller.go",
        ),
    KnownFinalizer::new(&[Is("service.kubernetes.io/load-balancer-cleanup")], &cause::LOAD_BALANCER_CLEANUP_PENDING)
        .only(&["Service"])
        .released_by("the cloud controller manager")
        .when("the cloud's load balancer is deleted")
        .lost("The load balancer stays in the cloud and costs money")
        .source("kubernetes/cloud-provider: controllers/service/controller.go"),
    in_use(&[Is("gateway-exists-finalizer.gateway.networking.k8s.io")])
        .only(&["GatewayClass"])
        .released_by("the Gateway controller of the class")
        .used_by(&[UsedBy::new("", "gateways", Back::Field(Field::GatewayClass)).anywhere()])
        .when("no Gateway uses the class")
        .lost("Gateways name a class that does not exist, and are no longer changed")
        .source("kubernetes-sigs/gateway-api: apis/v1/gatewayclass_types.go"),
    outside(&[Domain("infrastructure.cluster.x-k8s.io")])
        .on("AWSMachine, AzureMachine, VSphereMachine, … and their clusters")
        .released_by("Cluster API's infrastructure provider")
        .when("the machine, or the cluster's network, is deleted from the infrastructure")
        .destroys(Destroyed::resource("machine of").of(MACHINES))
        .lost("The machine keeps running, and its network stays")
        .source("kubernetes-sigs/cluster-api-provider-aws: api/v1beta2/awsmachine_types.go"),
    outside(&[Domain("cluster.x-k8s.io")])
        .on("Cluster, Machine, MachineSet, MachineDeployment, MachinePool, KubeadmControlPlane, …")
        .released_by("Cluster API")
        .when(
            "what is below it is deleted: a Machine's node is drained, its volumes are detached and its infrastructure \
                object is gone; below a Cluster are all its machines",
        )
        .lost("The machine keeps running and is counted nowhere; its Node stays")
        .source("kubernetes-sigs/cluster-api: api/core/v1beta2/machine_types.go"),
    outside(&[Is("karpenter.sh/termination")])
        .on("Node, NodeClaim")
        .released_by("Karpenter")
        .hosted_with("eks.amazonaws.com")
        .when("the node is drained, its volumes are detached and its instance is terminated")
        .destroys(Destroyed::resource("instance of").of(&["Node"]))
        .lost("The instance keeps running and costs money; pods on it are not drained")
        .source("kubernetes-sigs/karpenter: pkg/apis/v1/labels.go"),
    in_use(&[Is("karpenter.k8s.aws/termination")])
        .on("EC2NodeClass")
        .used_by(NODE_CLAIMS)
        .released_by("Karpenter")
        .when("no NodeClaim uses the class, and its instance profile and launch templates are deleted")
        .lost("Instance profiles and launch templates stay in AWS")
        .source("aws/karpenter-provider-aws: pkg/controllers/nodeclass/controller.go"),
];

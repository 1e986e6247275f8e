//! Finalizers of clouds: load balancers, policies, resources that are managed through Kubernetes.

use super::entry::{Back, Destroyed, KnownFinalizer, Pattern::*, UsedBy};
use super::{NODE_CLAIMS, in_use, known, outside};
use crate::state::Field;

/// That of a Service is in its status.
const LOAD_BALANCER: Destroyed =
    Destroyed::resource("load balancer of").of(&["Ingress", "Gateway"]).depending("unless other objects share it");

pub static KNOWN: &[KnownFinalizer] = &[
    outside(&[
        Is("ingress.k8s.aws/resources"),
        StartsWith("group.ingress.k8s.aws/"),
        Is("service.k8s.aws/resources"),
        Is("elbv2.k8s.aws/resources"),
        Is("gateway.k8s.aws/alb"),
        Is("gateway.k8s.aws/nlb"),
        Is("aga.k8s.aws/resources"),
    ])
    .on("Ingress, Service, TargetGroupBinding, Gateway, GlobalAccelerator")
    .released_by("the AWS Load Balancer Controller")
    .program("aws-load-balancer-controller")
    .when("its load balancer, listeners, target groups and security groups are deleted in AWS")
    .destroys(LOAD_BALANCER)
    .lost("Load balancers, target groups and security groups stay in AWS and cost money")
    .source("kubernetes-sigs/aws-load-balancer-controller: pkg/shared_constants/finalizers.go"),
    outside(&[Is("service.eks.amazonaws.com/resources"), Domain("ingress.eks.amazonaws.com")])
        .on("Service, Ingress")
        .released_by("the load balancer controller of EKS Auto Mode")
        .runs("in the control plane of EKS Auto Mode")
        .when("its load balancer, listeners, target groups and security groups are deleted in AWS")
        .destroys(LOAD_BALANCER)
        .lost("Load balancers, target groups and security groups stay in AWS and cost money")
        .source("awsdocs/amazon-eks-user-guide: latest/ug/automode/auto-configure-nlb.adoc"),
    in_use(&[Is("eks.amazonaws.com/termination")])
        .on("NodeClass of eks.amazonaws.com")
        .released_by("Karpenter of EKS Auto Mode")
        .used_by(NODE_CLAIMS)
        .runs("in the control plane of EKS Auto Mode")
        .when("no NodeClaim uses the class")
        .lost("Nodes that still run name a class that does not exist")
        .source("awsdocs/amazon-eks-user-guide: latest/ug/automode/create-node-class.adoc"),
    outside(&[
        Is("gateway.k8s.aws/resources"),
        Is("httproute.k8s.aws/resources"),
        Is("grpcroute.k8s.aws/resources"),
        Is("tlsroute.k8s.aws/resources"),
    ])
    .on("Gateway, HTTPRoute, GRPCRoute, TLSRoute of VPC Lattice")
    .released_by("the AWS Gateway API Controller")
    .when("its VPC Lattice services, listeners and associations are deleted in AWS; without its GatewayClass it is ignored")
    .destroys(Destroyed::resource("VPC Lattice resource of"))
    .lost("VPC Lattice services, listeners and target groups stay in AWS and cost money")
    .source("aws/aws-application-networking-k8s: pkg/controllers/route_controller.go, gateway_controller.go"),
    in_use(&[StartsWith("gateway.k8s.aws/")])
        .on("GatewayClass, TargetGroupConfiguration, LoadBalancerConfiguration, ListenerRuleConfiguration")
        .used_by(&[UsedBy::new("", "gateways", Back::Field(Field::GatewayClass)).of(&["GatewayClass"]).anywhere()])
        .released_by("the AWS Load Balancer Controller")
        .when("no Gateway, Route or Service refers to it any more")
        .lost("Gateways are built again without this configuration")
        .source("kubernetes-sigs/aws-load-balancer-controller: pkg/shared_constants/finalizers.go"),
    known(&[
        Is("networking.k8s.aws/resources"),
        Is("networking.k8s.aws/anp-resources"),
        Is("networking.k8s.aws/cnp-resources"),
    ])
    .on("NetworkPolicy, ApplicationNetworkPolicy, ClusterNetworkPolicy")
    .released_by("the Amazon network policy controller")
    .runs(
        "in EKS's control plane, and only while enable-network-policy-controller is true in ConfigMap \
            kube-system/amazon-vpc-cni",
    )
    .when("the policy's PolicyEndpoints are deleted")
    .lost("PolicyEndpoints may stay, and with them the rules that the nodes enforce on pods")
    .source("aws/amazon-network-policy-controller-k8s: internal/controllers/policy_controller.go"),
    outside(&[StartsWith("networking.gke.io/"), Domain("multiproject.networking.gke.io")])
        .on("Ingress, Service, ServiceNetworkEndpointGroup, ServiceAttachment")
        .released_by("GKE's ingress controller")
        .runs("in GKE's control plane")
        .when("its load balancer, firewall rules and network endpoint groups are deleted in Google Cloud")
        .destroys(LOAD_BALANCER)
        .lost("Load balancers and network endpoint groups stay in Google Cloud and cost money")
        .source("kubernetes/ingress-gce: pkg/utils/common/finalizer.go"),
    outside(&[StartsWith("gke.networking.io/")])
        .on("Service")
        .released_by("GKE's L4 controller")
        .runs("in GKE's control plane")
        .when("its load balancer, firewall rules and addresses are deleted in Google Cloud")
        .lost("Forwarding rules and addresses stay in Google Cloud and cost money")
        .source("kubernetes/ingress-gce: pkg/utils/common/finalizer.go"),
    outside(&[Domain("services.k8s.aws")])
        .on("resources of AWS Controllers for Kubernetes")
        .released_by("the ACK controller of that AWS service")
        .when(
            "the resource is deleted in AWS, unless the annotation services.k8s.aws/deletion-policy, or the controller's \
                own setting, says retain",
        )
        .destroys(Destroyed::data("AWS resource of").depending("unless services.k8s.aws/deletion-policy retains it")
            .kept_by("services.k8s.aws/deletion-policy=retain"))
        .lost("The resource stays in AWS and costs money")
        .source("aws-controllers-k8s/s3-controller: pkg/resource/bucket/descriptor.go"),
    outside(&[Domain("cnrm.cloud.google.com")])
        .on("resources of Config Connector")
        .released_by("Config Connector")
        .when(
            "the resource is deleted in Google Cloud, unless the annotation cnrm.cloud.google.com/deletion-policy says \
                abandon",
        )
        .destroys(Destroyed::data("Google Cloud resource of").depending("unless cnrm.cloud.google.com/deletion-policy abandons it")
            .kept_by("cnrm.cloud.google.com/deletion-policy=abandon"))
        // In namespaced mode its name has a hash at the end; its other programs do not take the finalizer off.
        .program("cnrm-controller-manager")
        .lost("The resource stays in Google Cloud and costs money")
        .source("GoogleCloudPlatform/k8s-config-connector: pkg/k8s/constants.go"),
    in_use(&[Is("in-use.crossplane.io")])
        .on("ProviderConfig, ClusterProviderConfig")
        .released_by("the Crossplane provider")
        .used_by(&[UsedBy::new("", "providerconfigusages", Back::Field(Field::ProviderConfig)).by_name()])
        .when("no ProviderConfigUsage of it is left: a managed resource that still exists has one")
        .lost("Managed resources that still exist lose their credentials and can no longer be deleted")
        .source("crossplane/crossplane-runtime: pkg/reconciler/providerconfig/reconciler.go"),
    outside(&[Is("finalizer.managedresource.crossplane.io")])
        .on("managed resources of Crossplane")
        .released_by("the Crossplane provider")
        .when("the resource is deleted in its cloud, unless deletionPolicy or managementPolicies keep it")
        .destroys(Destroyed::data("cloud resource of").depending("unless deletionPolicy or managementPolicies keep it"))
        .lost("The resource stays in the cloud and costs money")
        .source("crossplane/crossplane-runtime: pkg/reconciler/managed/reconciler.go"),
    known(&[
        Is("composite.apiextensions.crossplane.io"),
        Is("finalizer.apiextensions.crossplane.io"),
        Is("defined.apiextensions.crossplane.io"),
        Is("offered.apiextensions.crossplane.io"),
        Is("usage.apiextensions.crossplane.io"),
        Is("revision.pkg.crossplane.io"),
        Is("lock.pkg.crossplane.io"),
    ])
    .on("composite resources, claims, XRDs, Usages, package revisions")
    .released_by("Crossplane")
    .when("what it is composed of, or what it defines, is deleted")
    .lost("Composed resources stay, without anything that names them")
    .source("crossplane/crossplane: internal/controller/apiextensions/composite/reconciler.go"),
];

//! Finalizers of platforms and operators.

use super::entry::{Back, Destroyed, KnownFinalizer, Pattern::*, UsedBy};
use super::{known, outside};

pub static KNOWN: &[KnownFinalizer] = &[
    known(&[Is("kubevirt.io/foregroundDeleteVirtualMachine"), Is("foregroundDeleteVirtualMachine")])
        .on("VirtualMachineInstance")
        .released_by("KubeVirt's virt-controller")
        .when("the virtual machine has ended on its node, which virt-handler reports, and its virt-launcher pod is gone")
        .lost("The virtual machine may keep running, and a second one can start on the same disks")
        .source("kubevirt/kubevirt: pkg/virt-controller/watch/vmi/lifecycle.go"),
    known(&[Is("kubevirt.io/foregroundDeleteKubeVirt"), Is("foregroundDeleteKubeVirt")])
        .on("KubeVirt")
        .released_by("KubeVirt's virt-operator")
        .when("every component of KubeVirt is deleted")
        .lost("Components, webhooks and CRDs of KubeVirt stay")
        .source("kubevirt/kubevirt: pkg/virt-operator/util/client.go"),
    known(&[Is("operator.cdi.kubevirt.io")])
        .on("CDI")
        .released_by("CDI's cdi-operator")
        .when("what it has installed is deleted")
        .lost("Deployments, webhooks and CRDs of CDI stay; the disks that it has imported stay anyway")
        .source("kubevirt/containerized-data-importer: pkg/operator/controller/controller.go"),
    known(&[
        StartsWith("kubevirt.io/virtualMachine"),
        StartsWith("kubevirt.io/migration"),
        Domain("snapshot.kubevirt.io"),
        Domain("backup.kubevirt.io"),
    ])
        .on("VirtualMachine, VirtualMachineInstanceMigration, VirtualMachineSnapshot, …")
        .released_by("KubeVirt")
        .when("the virtual machine, migration, snapshot or backup has ended")
        .lost("Orphaned virtual machines, disks or snapshots remain")
        .source("kubevirt/kubevirt: staging/src/kubevirt.io/api/core/v1/types.go"),
    known(&[Domain("kubevirt.io")])
        .on("objects of KubeVirt and of what is built around it: CDI, HyperConverged, SSP, …")
        .released_by("the operator or controller of that component of KubeVirt")
        .when("what it made for the object is removed")
        .lost("What that component has made for the object stays")
        .source("kubevirt/hyperconverged-cluster-operator: controllers/hyperconverged/hyperconverged_controller.go"),
    known(&[Is("finalizers.gatekeeper.sh/sync"), Is("finalizers.gatekeeper.sh/syncset")])
        .on("any kind that Gatekeeper syncs")
        .released_by("Gatekeeper")
        .when("it has forgotten its copy of the object; today's Gatekeeper sets it no longer")
        .lost("Nothing: it stands for a copy in Gatekeeper's memory")
        .is_empty()
        .source("open-policy-agent/gatekeeper: pkg/controller/sync/sync_controller.go"),
    known(&[
        Is("kyverno.io/webhooks"), Is("kyverno.io/policywebhooks"), Is("kyverno.io/ttlwebhooks"),
        Is("kyverno.io/globalcontextwebhooks"), Is("kyverno.io/exceptionwebhooks"),
    ])
        .on("Deployment, Role, RoleBinding, ClusterRole and ClusterRoleBinding of Kyverno itself")
        .released_by("the Kyverno controller that is being deleted with it")
        .when("its webhook configurations are deleted")
        .lost("Webhook configurations of Kyverno stay, and may refuse requests until they are deleted")
        .source("kyverno/kyverno: cmd/cleanup-controller/main.go"),
    known(&[Is("cluster.open-cluster-management.io/manifest-work-cleanup")])
        .on("ManifestWork")
        .by_another()
        .released_by("the work agent of the managed cluster")
        .runs("in that cluster")
        .when("what the ManifestWork applied there is deleted")
        .lost("What was applied stays in the managed cluster")
        .source("open-cluster-management-io/ocm: pkg/work/spoke"),
    known(&[Is("tigera.io/cni-protector")])
        .on("ServiceAccount, ClusterRole and ClusterRoleBinding of calico-node and calico-cni-plugin")
        .released_by("the Tigera operator")
        .when(
            "nothing that needs the CNI plugin for its own end is left: every finalizer operator.tigera.io/… of the \
                Installation is off",
        )
        .lost("The CNI plugin loses its rights: pods that are being deleted stay, for their network cannot be removed")
        .source("tigera/operator: pkg/render/node.go"),
    known(&[Domain("tigera.io")])
        .on("Installation, APIServer, …")
        .released_by("the Tigera operator")
        .when("what it has installed is deleted, in its order")
        .lost("Pieces of Calico stay, and pods may lose their network before they have ended")
        .source("tigera/operator: pkg/render/finalizers.go"),
    known(&[Is("cnpg.io/deleteDatabase"), Is("cnpg.io/deletePublication"), Is("cnpg.io/deleteSubscription"),
        Is("cnpg.io/deleteRole")])
        .on("Database, Publication, Subscription, DatabaseRole of postgresql.cnpg.io")
        .by_another()
        .in_each_namespace()
        .released_by("CloudNativePG's instance manager")
        .runs("in the primary pod of the Cluster")
        .when("the object is dropped in PostgreSQL, if its reclaim policy says so")
        .destroys(Destroyed::data("PostgreSQL database of").of(&["Database"]).depending("if its databaseReclaimPolicy is delete"))
        .lost("The database, publication, subscription or role stays in PostgreSQL")
        .source("cloudnative-pg/cloudnative-pg: internal/management/controller/database_controller.go"),
    known(&[Is("cnpg.io/cleanupPlugin")])
        .on("Service")
        .released_by("CloudNativePG's operator")
        .when("it sees the Service; today's operator sets it no longer")
        .lost("Nothing that today's operator needs")
        .is_empty()
        .source("cloudnative-pg/cloudnative-pg: pkg/utils/finalizers.go"),
    known(&[Is("strimzi.io/topic-operator")])
        .on("KafkaTopic")
        .by_another()
        .in_each_namespace()
        .released_by("Strimzi's Topic Operator")
        .program_by_label("strimzi.io/cluster", "-entity-operator")
        .when("the topic is deleted in Kafka, with its data; it is a container of the Entity Operator of that Kafka")
        .destroys(Destroyed::data("Kafka topic").depending("unless strimzi.io/managed is false")
            .kept_by("strimzi.io/managed=false"))
        .lost("The topic and its data stay in Kafka")
        .source("strimzi/strimzi-kafka-operator: topic-operator/src/main/java/io/strimzi/operator/topic/KubernetesHandler.java"),
    known(&[Domain("strimzi.io")])
        .on("ConfigMap, KafkaRebalance and others of Strimzi")
        .released_by("Strimzi's Cluster Operator")
        .when("the operation that it belongs to has ended")
        .lost("An automatic rebalance is forgotten half way")
        .source(
            "strimzi/strimzi-kafka-operator: \
                cluster-operator/src/main/java/io/strimzi/operator/cluster/operator/assembly/KafkaAutoRebalancingReconciler.java",
        ),
    known(&[Domain("operator.knative.dev")])
        .on("KnativeServing, KnativeEventing")
        .released_by("the Knative Operator")
        .when("what it has installed for the last such object is deleted")
        .lost("Knative stays installed, with its CRDs, roles and webhook configurations")
        .source("knative/operator: pkg/reconciler/knativeserving/knativeserving.go"),
    known(&[Domain("knative.dev")])
        .on("Route, DomainMapping, Broker, Trigger, PodAutoscaler, … of Knative")
        .released_by("Knative")
        .when("what it has created for the object is removed")
        .lost("Claims of domains, labels and channels stay")
        .source("knative/serving: pkg/client/injection/reconciler/serving/v1/route/controller.go"),
    known(&[Is("finalizer.keda.sh")])
        .on("ScaledObject, ScaledJob, TriggerAuthentication")
        .released_by("KEDA's operator")
        .when("it has stopped scaling, and restored the number of replicas if it should")
        .lost("The workload keeps the number of replicas that it has")
        .source("kedacore/keda: controllers/keda/scaledobject_finalizer.go"),
    known(&[Is("apps.victoriametrics.com/finalizer")])
        .on("VMCluster, VMAgent, VMAlert, … and what is created for them")
        .released_by("VictoriaMetrics' operator")
        .when("what it has created for the object is deleted")
        .lost("Orphaned Deployments, Services and Secrets remain")
        .source("VictoriaMetrics/operator: internal/controller/operator/factory/finalize/common.go"),
    known(&[Is("deletion.finalizers.rabbitmqclusters.rabbitmq.com")])
        .on("RabbitmqCluster")
        .released_by("RabbitMQ's cluster operator")
        .when("its pods are labelled so that they end without waiting for each other")
        .lost("Its pods wait in their preStop hook, up to a week, before they end")
        .source("rabbitmq/cluster-operator: internal/controller/reconcile_finalizer.go"),
    known(&[Is("postgres-operator.acid.zalan.do")])
        .on("postgresql")
        .released_by("Zalando's Postgres operator")
        .when(
            "the cluster's StatefulSet, Services and Secrets are deleted, and its claims with all data unless the operator \
                is configured to keep these (enable_persistent_volume_claim_deletion)",
        )
        .destroys(Destroyed::data("data of PostgreSQL cluster").depending("unless the operator keeps them"))
        .lost("Orphaned StatefulSets, Services and Secrets remain")
        .source("zalando/postgres-operator: pkg/cluster/cluster.go"),
    known(&[Is("kopf.zalando.org/KopfFinalizerMarker")])
        .on("any kind")
        .released_by("an operator written with Kopf")
        .when("its delete handlers have run")
        .lost("Whatever its delete handlers would have cleaned up stays")
        .source("nolar/kopf: kopf/_cogs/configs/configuration.py"),
    known(&[Is("controller.cattle.io/namespace-auth")])
        .on("Namespace")
        .released_by("Rancher")
        .when("it has removed the ClusterRoles of the project that name the namespace")
        .lost("Rules of Rancher's project roles still name the namespace")
        .source("rancher/rancher: pkg/controllers/managementuser/rbac/namespace_handler.go"),
    known(&[StartsWith("clusterscoped.controller.cattle.io/user-node-remove_")])
        .on("Node of management.cattle.io")
        .released_by("Rancher")
        .when("it sees the object before its deletion; no Rancher since 2.4 has the controller behind it")
        .lost("Nothing: today's Rancher deletes the node without it")
        .is_empty()
        .source("rancher/rancher: pkg/controllers/management/node/controller.go"),
    outside(&[Domain("controller.cattle.io")])
        .on("objects of Rancher: clusters, projects, users, nodes, Namespaces, bindings")
        .released_by("Rancher")
        .when("its controller has cleaned up, in the cluster that the name after the underscore names, if there is one")
        .lost("Accounts, bindings and clusters stay that Rancher has forgotten")
        .source("rancher/norman: lifecycle/object.go"),
    known(&[Is("wrangler.cattle.io/on-helm-chart-remove")])
        .on("HelmChart")
        .released_by("the helm-controller")
        .in_server()
        .used_by(&[UsedBy::new("batch", "jobs", Back::Owner)])
        .by_job()
        .when("its Job helm-delete-NAME has uninstalled the Helm release")
        .lost("The Helm release stays installed, with all its objects")
        .source("k3s-io/helm-controller: pkg/controllers/chart/chart.go"),
    known(&[Is("svccontroller.k3s.cattle.io/daemonset")])
        .on("Service")
        .released_by("servicelb")
        .in_server()
        .set_by_server(&["service.kubernetes.io/load-balancer-cleanup"])
        .when("its DaemonSet svclb-NAME is deleted")
        .lost("The DaemonSet svclb-NAME may stay, and keeps the ports of the nodes")
        .source("k3s-io/k3s: pkg/cloudprovider/servicelb.go"),
    known(&[Is("wrangler.cattle.io/legacy-k3sBasedUpgrader-deprecation")])
        .on("Deployment")
        .released_by("Rancher's cattle-cluster-agent, which sets it on every Deployment,")
        .program("cattle-cluster-agent")
        .when("it sees the deletion; nothing is cleaned up")
        .lost("Nothing: the migration that it was for has ended")
        .is_empty()
        .source("rancher/rancher: pkg/controllers/dashboard/systemcharts/controller.go"),
    known(&[Is("wrangler.cattle.io/managed-etcd-controller")])
        .on("Node of a server with etcd")
        .released_by("the controller of etcd's members")
        .in_server()
        .when("the node's member is removed from etcd")
        .lost("The member stays in etcd and counts for its majority")
        .source("k3s-io/k3s: pkg/etcd/member_controller.go"),
    known(&[StartsWith("wrangler.cattle.io/")])
        .on("any kind; what follows the slash is the name of the controller")
        .released_by("Rancher, or what is built with its wrangler")
        .when("the controller of that name has cleaned up")
        .lost("Whatever that controller would have cleaned up stays")
        .source("rancher/wrangler: pkg/generic/remove.go"),
];

//! Finalizers of storage: snapshots, CSI drivers, storage systems, backups.

use findings::cause;

use super::entry::{Back, CORE, Destroyed, KnownFinalizer, Pattern::*, UsedBy};
use super::{in_use, known, outside};
use crate::state::Field;

/// Claims whose volume is made of it.
const MADE_OF_IT: &[UsedBy] =
    &[UsedBy::new(CORE, "persistentvolumeclaims", Back::Field(Field::DataSource)).until_done()];

pub static KNOWN: &[KnownFinalizer] = &[
    KnownFinalizer::new(
        &[Is("snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection")],
        &cause::SNAPSHOT_FINALIZER,
    )
    .by_another()
    .set_by_another()
    .on("VolumeSnapshotContent")
    .released_by("the csi-snapshotter beside the controller of the content's CSI driver")
    .when("the snapshot controller has marked the content, and the snapshot is deleted if its deletionPolicy says so")
    .destroys(Destroyed::data("snapshot of").of(&["VolumeSnapshotContent"]).depending("unless its deletionPolicy is Retain"))
    .lost("The snapshot may stay in the storage and cost money")
    .source("kubernetes-csi/external-snapshotter: pkg/sidecar-controller/snapshot_controller.go"),
    KnownFinalizer::new(&[Is("snapshot.storage.kubernetes.io/pvc-as-source-protection")], &cause::SNAPSHOT_FINALIZER)
        .on("PersistentVolumeClaim")
        .released_by("the snapshot controller")
        .used_by(&[UsedBy::new("snapshot.storage.k8s.io", "volumesnapshots", Back::Field(Field::SourceClaim)).until_done()])
        .when("every VolumeSnapshot of the claim is ready to use, also one that has failed for good, or is deleted")
        .lost("A snapshot that is being made of the claim fails")
        .source("kubernetes-csi/external-snapshotter: pkg/common-controller/snapshot_controller.go"),
    KnownFinalizer::new(&[Is("snapshot.storage.kubernetes.io/volumesnapshot-bound-protection")], &cause::SNAPSHOT_FINALIZER)
        .on("VolumeSnapshot")
        .after(&["snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"])
        .released_by("the snapshot controller")
        .used_by(&[
            UsedBy::new("snapshot.storage.k8s.io", "volumesnapshotcontents", Back::Field(Field::Snapshot)).anywhere(),
        ])
        .when("its VolumeSnapshotContent is deleted, if the deletionPolicy of that is Delete")
        .lost("The snapshot stays in the storage and costs money")
        .source("kubernetes-csi/external-snapshotter: pkg/common-controller/snapshot_controller.go"),
    KnownFinalizer::new(
        &[Is("snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection")],
        &cause::SNAPSHOT_FINALIZER,
    )
    .on("VolumeSnapshot")
    .released_by("the snapshot controller")
    .used_by(MADE_OF_IT)
    .when("no claim that is restored from it is still Pending")
    .lost("A restore fails half way")
    .source("kubernetes-csi/external-snapshotter: pkg/common-controller/snapshot_controller.go"),
    KnownFinalizer::new(
        &[Domain("snapshot.storage.kubernetes.io"), Domain("groupsnapshot.storage.kubernetes.io")],
        &cause::SNAPSHOT_FINALIZER,
    )
    .on("VolumeSnapshot, VolumeSnapshotContent, VolumeGroupSnapshot, PersistentVolumeClaim")
    .released_by("the snapshot controller")
    .when("no snapshot is made of it, no volume restored from it, and its content is deleted in the storage")
    .lost("A restore fails, or the snapshot stays in the storage and costs money")
    .source("kubernetes-csi/external-snapshotter: pkg/utils/util.go"),
    KnownFinalizer::new(&[StartsWith("provisioner.storage.kubernetes.io/")], &cause::SNAPSHOT_FINALIZER)
        .on("PersistentVolumeClaim, VolumeSnapshot")
        .released_by("the CSI driver's external-provisioner")
        .used_by(MADE_OF_IT)
        .when("no claim that is cloned from it, or restored from it, is still being provisioned")
        .lost("A clone or a restore fails half way")
        .source("kubernetes-csi/external-provisioner: pkg/controller/controller.go"),
    KnownFinalizer::new(&[Is("ceph.rook.io/disaster-protection")], &cause::ROOK_FINALIZER)
        .comes_first()
        .on("Secret, ConfigMap")
        .released_by("the Rook operator")
        .when("its CephCluster is deleted")
        .lost("The keys and addresses of the Ceph cluster are lost, and with them all data in it")
        .source("rook/rook: pkg/operator/ceph/cluster/mon/mon.go"),
    known(&[Is("cephcluster.ceph.rook.io")])
        .on("CephCluster")
        .released_by("the Rook operator")
        .when(
            "no object of Rook (its condition DeletionIsBlocked names them) and no volume depends on the cluster any \
                more; its daemons then go with it, and its disks are wiped if its cleanupPolicy says so",
        )
        .destroys(Destroyed::data("data of Ceph cluster").depending("if its cleanupPolicy wipes them"))
        .lost(
            "Kubernetes then deletes all that the CephCluster owns: its daemons, their Services, the Secrets with its \
                keys; what is on its disks is out of reach without these",
        )
        .by_mistake("\"Restoring CRDs After Deletion\" in Rook's documentation (Disaster Recovery)")
        .source("rook/rook: pkg/operator/ceph/cluster/controller.go"),
    known(&[Domain("ceph.rook.io")])
        .on("CephBlockPool, CephFilesystem, CephObjectStore, …")
        .released_by("the Rook operator")
        .when(
            "nothing depends on the object any more (its condition DeletionIsBlocked names what does), and Ceph has deleted \
                what it stands for: a pool, file system or object store with all its data, unless its spec preserves that",
        )
        .destroys(Destroyed::data("Ceph data of").of(&["CephBlockPool", "CephFilesystem", "CephObjectStore"]).depending("unless its spec preserves it"))
        .lost("Pools, file systems and daemons stay without anybody who manages them")
        .by_mistake("\"Restoring CRDs After Deletion\" in Rook's documentation (Disaster Recovery)")
        .source("rook/rook: pkg/operator/ceph/controller/finalizer.go"),
    known(&[Is("longhorn.io")])
        .on("Volume, Replica, Engine, Node, BackingImage, Backup, … of longhorn.io")
        .released_by("longhorn-manager")
        .when("what the object stands for is removed from the nodes and from the backup target, with its data")
        .destroys(Destroyed::data("Longhorn data of").of(&["Volume", "Backup"]))
        .lost("Replicas stay on the nodes' disks, and engines keep running")
        .source("longhorn/longhorn-manager: datastore/longhorn.go"),
    known(&[Is("topolvm.io/pvc"), Is("topolvm.cybozu.com/pvc")])
        .on("PersistentVolumeClaim")
        .released_by("topolvm-controller")
        .when("its pods are deleted; today's topolvm-controller no longer sets it and removes it from any claim")
        .lost("Nothing: today's TopoLVM does not use it")
        .is_empty()
        .source("topolvm/topolvm: internal/controller/persistentvolumeclaim_controller.go"),
    outside(&[Domain("topolvm.io"), Domain("topolvm.cybozu.com")])
        .on("LogicalVolume, Node")
        .released_by("TopoLVM")
        .when("lvmd has removed the logical volume from the node, or the node's volumes are deleted")
        .destroys(Destroyed::data("logical volume of").of(&["LogicalVolume"]))
        .lost("The logical volume stays on the node and takes its room")
        .source("topolvm/topolvm: internal/controller/logicalvolume_controller.go"),
    known(&[Is("trident.netapp.io")])
        .on("TridentVolume, TridentBackend, TridentSnapshot, … of trident.netapp.io")
        .released_by("Trident's controller")
        .when("the volume or snapshot is deleted on the storage system")
        .destroys(Destroyed::data("storage of").of(&["TridentVolume", "TridentSnapshot"]))
        .lost("Volumes and snapshots stay on the storage system, and Trident forgets them")
        .source("NetApp/trident: persistent_store/crd/apis/netapp/v1/types.go"),
    in_use(&[
        Is("cns.vmware.com/pvc-protection"),
        Is("cns.vmware.com/pvc-delete-protection"),
        Is("cns.vmware.com/volumesnapshot-protection"),
        Is("cns.vmware.com/unregister-protection"),
    ])
    .on("PersistentVolumeClaim, VolumeSnapshot of a Supervisor cluster")
    .released_by("the vSphere CSI driver's syncer")
    .when("no virtual machine has the disk attached, and no guest cluster's claim or snapshot stands for it")
    .lost("The disk is deleted while a virtual machine or a guest cluster uses it")
    .source("kubernetes-sigs/vsphere-csi-driver: pkg/syncer/cnsoperator/types/types.go"),
    outside(&[Domain("cns.vmware.com")])
        .on("CnsNodeVmAttachment, CnsVolumeMetadata, CnsRegisterVolume, CnsUnregisterVolume")
        .released_by("the vSphere CSI driver's syncer")
        .when("the disk is detached from the virtual machine, or vCenter knows of it")
        .lost("The disk stays attached to the virtual machine, and vCenter keeps what it knew of it")
        .source("kubernetes-sigs/vsphere-csi-driver: pkg/syncer/cnsoperator/types/types.go"),
    known(&[Domain("database.arangodb.com")])
        .on("Pod, PersistentVolumeClaim, ArangoDeployment")
        .released_by("the ArangoDB operator")
        .when(
            "the server may end: a DB-Server is drained, enough agents are left, the member of a claim is gone; of an                 ArangoDeployment, when its pods and claims have no such finalizer any more",
        )
        .lost("A server ends that is not drained: of what it alone has a copy is lost with its claim")
        .source("arangodb/kube-arangodb: docs/design/lifecycle_hooks_and_finalizers.md"),
    known(&[Domain("velero.io")])
        .on("Restore, DataUpload, DataDownload, PodVolumeBackup, PodVolumeRestore, VolumeSnapshotContent")
        .released_by("Velero")
        .when("the transfer has ended, or the restore's files are deleted from the backup storage")
        .lost("Files of the restore stay in the backup storage, and half-made uploads are not cancelled")
        .source("vmware-tanzu/velero: pkg/controller/restore_controller.go, data_upload_controller.go"),
];

//! Stored objects that the API server cannot read, and of which kind they are.

use crate::cause::circumstance::{Circumstance, Unread};
use crate::cause::page::*;

const UNSAFE_DELETION: Advice = step(
    "Only where its content is lost for good: kube-apiserver from 1.32 on deletes an object that it cannot read, with the \
        feature gate AllowUnsafeMalformedObjectDeletion, the right unsafe-delete-ignore-read-errors, and the option \
        ignoreStoreReadErrorWithClusterBreakingPotential of the request. Finalizers and owners are then not looked at",
);

causes! {
    OBJECT_NOT_DECRYPTABLE = Cause::cluster(ClusterArea::Admission, "ObjectNotDecryptable")
        .title("A stored object cannot be decrypted")
        .meaning("etcd holds an object that none of the API server's encryption keys opens. The whole list of that \
            kind fails, and nothing of it can be deleted.")
        .proof("An error says: unable to transform key, and names the key.")
        .safe(&[
            check("Find the API server's encryption configuration (--encryption-provider-config)")
                .run("kubectl -n kube-system get pods -l component=kube-apiserver -o yaml"),
            step("Put the old encryption key back into the API server's encryption configuration as a read provider"),
            step("Then write every object of the kind anew, and drop the old key"),
            UNSAFE_DELETION,
        ])
        .dont("Do not delete the key in etcd, or use ignoreStoreReadErrorWithClusterBreakingPotential",
            "The content is lost, and with it whatever its finalizers should have cleaned up.")
        .sources(&["reference: unable to transform key"])
        .diagnosis(Proven::Cluster("undecryptable"));

    OBJECT_NOT_DECODABLE = Cause::cluster(ClusterArea::Admission, "ObjectNotDecodable")
        .title("A stored object cannot be decoded")
        .meaning("etcd holds an object that the API server cannot read. The error names neither kind nor name; the \
            list of that kind fails.")
        .proof("The namespace's NamespaceDeletionContentFailure holds a decoder's error.")
        .safe(&[
            check("See the error of the list of this kind")
                .run("kubectl get {type} -n {namespace} -o name").typed().if_known()
                .when(&[Circumstance::Unread(Unread::Listed)]),
            check("See whether the list of Secrets fails: every other kind can be listed")
                .run("kubectl get secrets -n {namespace} -o name").typed()
                .when(&[Circumstance::Unread(Unread::Secrets)]),
            check("Find the kind whose list fails")
                .run("kubectl api-resources --verbs=list --namespaced -o name | xargs -n1 kubectl -n {namespace} get \
                    -o name")
                .typed().when(&[Circumstance::Unread(Unread::Unknown)]),
            check("Find the key in etcd that cannot be decoded, and restore the object from a backup of etcd"),
            UNSAFE_DELETION,
        ])
        .dont("Do not delete keys in etcd", "The content is lost; a wrong key takes a healthy object with it.")
        .sources(&["reference: illegal base64 data"])
        .diagnosis(Proven::Cluster("undecodable"));
}

//! Stored objects that the API server cannot read, and of which kind they are.

use crate::cause::circumstance::{Circumstance, Unread};
use crate::cause::page::*;

const UNSAFE_DELETION: Advice = step(
    "Only where its content is lost for good: kube-apiserver from 1.32 on deletes an object that it cannot read, with the \
        feature gate AllowUnsafeMalformedObjectDeletion, the right unsafe-delete-ignore-read-errors, and the option \
        ignoreStoreReadErrorWithClusterBreakingPotential of the request. Finalizers and owners are then not looked at",
);

const LISTED: Circumstance = Circumstance::Unread(Unread::Listed);
const SECRETS: Circumstance = Circumstance::Unread(Unread::Secrets);
const ENCRYPTED: Circumstance = Circumstance::Unread(Unread::Encrypted);
const KIND_UNKNOWN: Circumstance = Circumstance::Unread(Unread::Unknown);

causes! {
    OBJECT_NOT_DECODABLE = Cause::cluster(ClusterArea::Admission, "ObjectNotDecodable")
        .title("A stored object cannot be decoded or decrypted")
        .meaning("etcd holds an object that the API server cannot read, or that none of its encryption keys opens. The \
            list of that kind fails, and nothing of it can be deleted. The error of a decoder names neither kind nor name.")
        .proof("The namespace's NamespaceDeletionContentFailure holds a decoder's error, or unable to transform key with the \
            name of the key.")
        .safe(&[
            check("Find the API server's encryption configuration (--encryption-provider-config)")
                .run("kubectl -n kube-system get pods -l component=kube-apiserver -o yaml").when(&[ENCRYPTED]),
            step("Put the old encryption key back into the API server's encryption configuration as a read provider")
                .when(&[ENCRYPTED]),
            step("Then write every object of the kind anew, and drop the old key").when(&[ENCRYPTED]),
            check("See the error of the list of this kind")
                .run("kubectl get {type} -n {namespace} -o name").typed().if_known()
                .when(&[LISTED]),
            check("See whether the list of Secrets fails: every other kind can be listed")
                .run("kubectl get secrets -n {namespace} -o name").typed()
                .when(&[SECRETS]),
            check("Find the kind whose list fails")
                .run("kubectl api-resources --verbs=list --namespaced -o name | xargs -n1 kubectl -n {namespace} get \
                    -o name")
                .typed().when(&[KIND_UNKNOWN]),
            check("Find the key in etcd that cannot be decoded, and restore the object from a backup of etcd")
                .when(&[LISTED, SECRETS, KIND_UNKNOWN]),
            UNSAFE_DELETION,
        ])
        .dont("Do not delete keys in etcd", "The content is lost; a wrong key takes a healthy object with it.")
        .sources(&["reference: illegal base64 data", "reference: unable to transform key"])
        .diagnosis(Proven::Cluster("undecodable"));
}

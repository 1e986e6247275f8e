//! Objects of a namespace that could not be listed.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    FINALIZER_OF_UNSEEN_OBJECTS = Cause::cluster(ClusterArea::Finalizer, "FinalizerOfUnseenObjects")
        .title("A finalizer holds objects that could not be listed")
        .meaning("The namespace controller says which kinds remain in the namespace and which finalizers hold them. \
            The objects themselves may not be listed by you, or are Secrets, which are not read here. So the finalizer \
            is known, and which object has it is not.")
        .proof("NamespaceContentRemaining names the kind and NamespaceFinalizersRemaining the finalizer, and no object \
            that could be listed has it. Where several kinds could not be listed, which of them has it is not known, \
            and it is probable.")
        .safe(&[
            check("See which of them has the finalizer, and nothing of their content; if that is refused, ask \
                a user with permission to list them")
                .run("kubectl -n {namespace} get {type} -o custom-columns=NAME:.metadata.name,FINALIZERS:.metadata.finalizers")
                .if_known(),
            check("See whether the program that removes {finalizer} runs, and let it finish; its name mostly begins \
                with that of the product"),
            check("Ask about one of them by name: it shows who set the finalizer, and what its controller reports"),
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: NamespaceFinalizersRemaining"])
        .diagnosis(Proven::Cluster("held-secret"));
}

//! <https://github.com/kubevirt/kubevirt/issues/13098>: KubeVirt was removed before its virtual machines. No controller
//! removes their finalizers, and its webhook, whose Service is gone too, refuses all other writers.

use crate::support::*;

#[test]
fn a_virtual_machine_outlives_its_operator_and_its_webhook() {
    let world = healthy()
        .with_custom("kubevirt.io", "virtualmachines", "VirtualMachine")
        .active("vms")
        .going("kubevirt", all_false())
        .may_change("kubevirt", "kubevirt-controller", "kubevirt.io", "virtualmachines")
        .product_webhook(
            "virt-api-mutator",
            "kubevirt/virt-api",
            &["CREATE", "UPDATE"],
            "kubevirt.io",
            "virtualmachines",
        )
        .held("kubevirt.io/v1", "VirtualMachine", "vms", "focal", &["kubevirt.io/virtualMachineControllerFinalize"]);
    let looked = look(world, object("virtualmachine", "vms", "focal"));
    assert_eq!(looked.causes(), ["WebhookGoneWithNamespace"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].verdict, Verdict::Stuck);
    looked.assert_chain(
        0,
        &[
            "VirtualMachine vms/focal: held by finalizer kubevirt.io/virtualMachineControllerFinalize",
            "ServiceAccount kubevirt/kubevirt-controller: ",
            "ValidatingWebhookConfiguration virt-api-mutator: ",
            "Service kubevirt/virt-api: does not exist, and cannot be created again",
        ],
    );
}

//! A task that should end and waits in the kernel: a SIGKILL is pending and the kernel cannot act on it, or it hangs
//! on its way out. What it waits for is the cause: a FUSE server, an NFS server, a device.

use crate::cause::page::*;

pub(super) const READ_STACK: Advice =
    check("See which kernel function pid {pid} waits in").run("cat /proc/{pid}/stack");

causes! {
    UNINTERRUPTIBLE_TASK = Cause::gate(Gate::ContainersStopped, "UninterruptibleTask")
        .title("A task sleeps uninterruptibly in the kernel")
        .meaning("A task of the pod waits in the kernel in state D: for a local disk, a device driver, or a file \
            system that was not recognised. The kernel acts on SIGKILL only when this wait ends. Until then the \
            container stays RUNNING and StopContainer runs into its deadline, or the pod's cgroup cannot be removed.")
        .proof("A thread is D with SIGKILL pending in SigPnd or ShdPnd, or exiting (PF_EXITING in its flags), in the \
            same kernel function and with the same count of context switches in two looks at least a quarter of a \
            second apart, and no FUSE or NFS wait is recognised. One that waits \
            for the lock of a pipe is reported only where no other wait is: a task that splices keeps it. A busy disk makes a task wait too: until two minutes \
            after the deadline it is only probable.")
        .safe(&[
            check("See which kernel function thread {tid} waits in").run("cat /proc/{pid}/task/{tid}/stack").lab("pipe-lock").if_known(),
            check("Look for disk, driver and hung task messages of the kernel and repair what they name")
                .run("dmesg -T"),
            step("If the device or driver cannot be made to answer, drain the node and reboot it; what was not written \
                to that device is lost"),
        ])
        .dont("Do not run kill -9 again and again, or kubectl delete pod --force",
            "SIGKILL is already pending and a second one changes nothing. After the forced delete the task stays, and \
                a replacement can use the same device or data.")
        .sources(&[
            "cri-o#9256", "cri-o#7736", "concourse#4477", "kubernetes#123766", "containerd#8102", "kubernetes#84595",
            "reference: CRI-O \"blocked in uninterruptible sleep\"",
        ])
        .event_reason("PodProcessUninterruptible")
        .followed()
        .diagnosis(Proven::Lab("pipe-lock"));
}

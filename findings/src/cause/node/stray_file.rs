//! Something in `volumes/` that is no directory: `ReadDirNoStat` fails on it, and the kubelet takes
//! a failed look for "volumes exist".

use crate::cause::page::*;

causes! {
    STRAY_FILE_IN_VOLUMES = Cause::gate(Gate::VolumesUnmounted, "StrayFileInVolumes")
        .title("A file stands where the kubelet expects a directory")
        .meaning("A regular file lies directly in pods/<uid>/volumes. The kubelet takes every entry there for a \
            plugin's directory, fails to list the file, and treats the error as \"volumes still exist\". It asks ten \
            times a second, without end.")
        .proof("An entry of pods/<uid>/volumes is no directory; the kubelet says could not read directory … not a \
            directory.")
        .safe(&[
            step("Move the file out of the way, into a new directory below /var/tmp; the kubelet continues at once")
                .run("test -f {path} && mv {path} \"$(mktemp -d /var/tmp/moved.XXXXXX)\"").lab("stray-file"),
            check("Find out which tool (backup, scanner, script) writes into the kubelet's directory and stop it"),
        ])
        .dont("Do not run rm -rf on pods/<uid>/volumes", "Volumes that are still mounted there lose their data.")
        .sources(&["reference: kubelet getPodVolumePathListFromDisk"])
        .event_reason("PodVolumeStrayFile")
        .diagnosis(Proven::Lab("stray-file"));
}

//! What stands beside a finding about a task in D: the devices that it has open, and what the kernel logged about it. Neither
//! proves anything by itself.

use findings::{Evidence, duration};

use super::blocked_task::{self, BlockedTask};
use super::layers;
use super::prelude::*;

/// More lines about one task are left out, the oldest first.
const MAX_LINES: usize = 3;

/// Adds it to the finding.
pub fn add_evidence(view: &PodView, waiting: &BlockedTask, finding: &mut Finding) {
    let devices = &waiting.process.devices;
    let open = (!devices.is_empty())
        .then(|| Evidence::new(format!("/proc/{}/fd", waiting.process.pid), format!("open: {}", devices.join(", "))));
    let settled = view.seen.is_settled(Question::KernelLog);
    let logged = match &view.seen.kernel_log {
        Seen::Seen(lines) if settled => said(view, waiting, lines),
        Seen::Failed(fault) if settled => vec![Evidence::new("kernel log", format!("not read: {fault}"))],
        _ => Vec::new(),
    };
    for evidence in open.into_iter().chain(logged) {
        if !finding.evidence.contains(&evidence) {
            finding.evidence.push(evidence);
        }
    }
}

/// The last lines since the process started that name the task, or a device or a server of the file systems that it may wait
/// for.
fn said(view: &PodView, waiting: &BlockedTask, lines: &[KernelLine]) -> Vec<Evidence> {
    let BlockedTask { process, thread, .. } = *waiting;
    let started = view.seen.uptime_ms.saturating_sub(process.age_ms);
    let hung = format!("INFO: task {}:{} blocked for more than ", thread.comm, thread.tid);
    let mounts = match blocked_task::file_system(view, process, thread) {
        Some(mount) => vec![mount],
        None => layers::with_served(view, process, thread),
    };
    let stacks = view.seen.block_stacks.iter().filter(|stack| mounts.iter().any(|mount| mount.dev == stack.mounted));
    let devices: Vec<&str> = stacks.flat_map(|stack| &stack.devices).map(|device| device.name.as_str()).collect();
    let servers: Vec<String> = mounts.iter().filter_map(|mount| server(mount)).collect();
    let is_about = |line: &&KernelLine| {
        let mut words = line.text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_!".contains(c));
        line.after_boot_ms >= started
            && (line.text.starts_with(&hung)
                || servers.iter().any(|server| line.text.starts_with(server))
                || words.any(|word| devices.contains(&word)))
    };
    let age = |line: &KernelLine| duration(view.seen.uptime_ms.saturating_sub(line.after_boot_ms) / 1000);
    let evidence = |line: &KernelLine| Evidence::new("kernel log", format!("{} ago: \"{}\"", age(line), line.text));
    lines.iter().rev().filter(is_about).take(MAX_LINES).map(evidence).collect()
}

/// How lines about the server of an NFS mount begin.
fn server(mount: &Mount) -> Option<String> {
    let (server, _) = mount.source.as_str().filter(|_| mount.is_nfs())?.split_once(":/")?;
    Some(format!("nfs: server {} ", server.trim_matches(['[', ']'])))
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    fn evidence(seen: &Observation) -> String {
        let found = &judge(seen).pods[0].findings[0];
        found.evidence.iter().map(|one| format!("{}: {}\n", one.source, one.says)).collect()
    }

    fn logged(ago_ms: u64, text: &str) -> KernelLine {
        KernelLine { after_boot_ms: sample::running().uptime_ms - ago_ms, text: text.to_owned() }
    }

    /// A task of the container that waits for an NFS server.
    fn waits() -> Observation {
        let mut seen = sample::running();
        block(&mut seen, INIT, "rpc_wait_bit_killable");
        container_table(&mut seen, vec![mount(9, "0:40", "/data", "nfs4")]);
        seen.mounts.others[0].mounts[0].source = "[fd00::5]:/export".into();
        seen
    }

    #[test]
    fn the_kernels_lines_about_the_task_and_its_server_stand_beside_the_finding() {
        let mut seen = waits();
        let comm = seen.processes[0].comm.clone();
        let hung = |pid: u32, comm: &str| format!("INFO: task {comm}:{pid} blocked for more than 120 seconds.");
        seen.kernel_log = Seen::Seen(vec![
            logged(seen.uptime_ms, &hung(INIT, &comm)),
            logged(180_000, "nfs: server fd00::5 not responding, still trying"),
            logged(120_000, &hung(INIT, &comm)),
            logged(90_000, &hung(INIT, "another")),
            logged(80_000, &hung(7, &comm)),
            logged(60_000, "nfs: server fd00::55 not responding, still trying\u{1b}[2J"),
            logged(50_000, "I/O error, dev sda, sector 1"),
        ]);
        let shown = evidence(&seen);
        let lines: Vec<&str> = shown.lines().filter(|line| line.starts_with("kernel log")).collect();
        let [task, server] = lines.as_slice() else { panic!("{shown}") };
        assert!(task.contains(&format!("2m ago: \"{}\"", hung(INIT, &comm))), "{task}");
        assert!(server.contains("3m ago: \"nfs: server fd00::5 not responding, still trying\""), "{server}");
        // It finds nothing and proves nothing.
        let mut without = waits();
        assert_eq!(causes(&seen), causes(&without));
        without.kernel_log = Seen::Missing;
        assert!(!evidence(&without).contains("kernel log"));
    }

    #[test]
    fn lines_about_the_device_below_the_file_system_count() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "io_schedule");
        container_table(&mut seen, vec![mount(9, "8:17", "/data", "ext4")]);
        let device = |name: &str| BlockDevice {
            name: name.to_owned(),
            kind: BlockKind::Disk { state: None },
            in_flight: None,
            finished: [None; 2],
            written: [None; 2],
            below: Vec::new(),
        };
        let mounted = Dev { major: 8, minor: 17 };
        seen.block_stacks = vec![BlockStack { mounted, devices: vec![device("sdb1"), device("sdb")], errors: None }];
        seen.kernel_log = Seen::Seen(vec![
            logged(9000, "I/O error, dev sdb, sector 2048 op 0x0:(READ)"),
            logged(8000, "EXT4-fs error (device sdb1): ext4_find_entry:1455"),
            logged(7000, "Buffer I/O error on dev sdbc, logical block 0"),
        ]);
        let shown = evidence(&seen);
        assert!(
            shown.contains("dev sdb, sector") && shown.contains("(device sdb1)") && !shown.contains("sdbc"),
            "{shown}"
        );
    }

    #[test]
    fn the_devices_that_a_task_in_d_has_open_are_evidence() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "io_schedule");
        seen.processes[0].devices = vec!["/dev/nvidia0".into(), "/dev/nvidiactl".into()];
        assert!(evidence(&seen).contains(&format!("/proc/{INIT}/fd: open: /dev/nvidia0, /dev/nvidiactl")));
    }
}

//! The kernel's ring of messages, as syslog(2) gives it.

use crate::observation::KernelLine;

/// Older ones that matter are left out.
const MAX_LINES: usize = 256;
/// The kernel cuts its own at about a thousand.
const MAX_LINE_CHARS: usize = 400;
/// Parts of lines about hung tasks, failed I/O and silent NFS servers.
const ABOUT: [&str; 7] =
    [" blocked for more than ", "I/O error", "EXT4-fs error", "XFS (", "BTRFS error", "nfs: server ", "NVRM: "];

/// The lines of the kernel itself that may say what a task waits for, the oldest first; others can write to the ring, which
/// marks what is theirs. A line without a time could be of any.
pub fn kernel_log(ring: &[u8]) -> Vec<KernelLine> {
    let text = String::from_utf8_lossy(ring);
    let mut lines: Vec<KernelLine> = text.lines().rev().filter_map(line).take(MAX_LINES).collect();
    lines.reverse();
    lines
}

/// `<6>[   12.345678] nfs: server …`, or with the task that wrote it: `<6>[   12.345678][  T123] …`.
fn line(line: &str) -> Option<KernelLine> {
    let (level, rest) = line.strip_prefix('<')?.split_once('>')?;
    let is_kernels = level.parse::<u32>().is_ok_and(|level| level < 8);
    let (time, rest) = rest.strip_prefix('[')?.split_once(']')?;
    let (seconds, micros) = time.trim().split_once('.')?;
    let after_boot_ms =
        seconds.parse::<u64>().ok()?.checked_mul(1000)? + micros.parse::<u64>().ok()?.min(999_999) / 1000;
    let text = rest.strip_prefix('[').and_then(|caller| caller.split_once(']')).map_or(rest, |(_, text)| text).trim();
    let matters = is_kernels && ABOUT.iter().any(|part| text.contains(part));
    matters.then(|| KernelLine { after_boot_ms, text: text.chars().take(MAX_LINE_CHARS).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_own_lines_with_a_time_count() {
        let ring = b"<6>[   12.345678] nfs: server 10.0.0.5 not responding, still trying\n\
            <3>[86400.000001][   T64] INFO: task ls:338 blocked for more than 120 seconds.\n\
            <12>[86401.000000] INFO: task ls:338 blocked for more than 240 seconds.\n\
            <3>INFO: task ls:338 blocked for more than 360 seconds.\n\
            <6>[86402.000000] usb 1-1: new device\n\xff\n<\n<3>[x.y] I/O error\n";
        let lines = kernel_log(ring);
        let shown: Vec<(u64, &str)> = lines.iter().map(|line| (line.after_boot_ms, line.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                (12_345, "nfs: server 10.0.0.5 not responding, still trying"),
                (86_400_000, "INFO: task ls:338 blocked for more than 120 seconds."),
            ]
        );
        let many = "<3>[1.0] I/O error, dev sda\n".repeat(300) + "<3>[2.0] I/O error, dev sdb\n";
        let lines = kernel_log(many.as_bytes());
        assert_eq!((lines.len(), lines[255].after_boot_ms), (256, 2000));
    }
}

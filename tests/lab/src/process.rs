//! Looking at and ending single processes.

use std::{fs, time::Duration};

use anyhow::Context as _;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::wait_for;

/// A task's state letter; nothing when there is no such task. Of `/proc/<pid>/stat` a task that runs another program
/// gives no answer.
pub fn state(pid: i32) -> Option<char> {
    task_state(&format!("/proc/{pid}/status"))
}

/// The state letter of one thread.
pub fn thread_state(pid: i32, tid: i32) -> Option<char> {
    task_state(&format!("/proc/{pid}/task/{tid}/status"))
}

fn task_state(path: &str) -> Option<char> {
    parse_state(&fs::read_to_string(path).ok()?)
}

fn parse_state(status: &str) -> Option<char> {
    field(status, "State:")?.chars().next()
}

/// The value on a line of its own in `/proc/<pid>/status`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// In which kernel function a task sleeps.
pub fn wait_channel(pid: i32) -> String {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    match read("wchan").as_str() {
        // x86 kernels before 5.16 do not know; `[<0>] request_wait_answer+0xfa/0x220 [fuse]` does.
        "0" => read("stack").split([' ', '+']).nth(1).unwrap_or_default().to_owned(),
        word => word.to_owned(),
    }
}

/// The threads of a process.
pub fn threads(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The children of a process' main thread.
pub fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The parent of a process.
pub fn parent(pid: i32) -> anyhow::Result<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).with_context(|| format!("read process {pid}"))?;
    Ok(field(&text, "PPid:").context("a status has a PPid")?.parse()?)
}

/// Sends a signal; a process that is gone is no error.
pub fn signal(pid: i32, signal: Signal) -> anyhow::Result<()> {
    match kill(Pid::from_raw(pid), signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("send {signal} to process {pid}")),
    }
}

/// Waits until a process is in one of the states, for example `"D"`.
pub fn wait_state(pid: i32, states: &str) -> anyhow::Result<()> {
    wait_for(&format!("process {pid} is in state {states}"), Duration::from_secs(10), || {
        Ok(state(pid).filter(|&state| states.contains(state)).map(|_| ()))
    })
}

/// Waits until a process has a handler for a signal. Before that an init of a pid namespace does not even get it.
pub fn wait_handled(pid: i32, signal: Signal) -> anyhow::Result<()> {
    let bit = 1_u64 << (signal as i32 - 1);
    wait_for(&format!("process {pid} handles {signal}"), Duration::from_secs(10), || {
        let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let handled = u64::from_str_radix(field(&text, "SigCgt:").context("a status has a SigCgt")?, 16)?;
        Ok((handled & bit != 0).then_some(()))
    })
}

/// Waits until a process has ended; a zombie counts, its parent takes it away.
pub fn wait_end(pid: i32) -> anyhow::Result<()> {
    wait_for(&format!("process {pid} ends"), Duration::from_secs(10), || {
        Ok(matches!(state(pid), None | Some('Z' | 'X')).then_some(()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_has_a_line_of_its_own() {
        assert_eq!(parse_state("Name:\tState: R\nUmask:\t0022\nState:\tD (disk sleep)\n"), Some('D'));
        assert_eq!(parse_state("Name:\tcat\n"), None);
    }
}

//! A `kill` that holds for one process only.
//!
//! What is printed is typed minutes later, and an Event lives for an hour: by then the pid may be another's. Linux
//! gives no name to a process that a shell could use instead, so each command compares when the process started.

use std::borrow::Cow;

use crate::placeholder::{fill, holes};
use crate::{Placeholder, Shape, Values, quote_for_shell};

/// The process that a command of the registry signals; it is the only thing that `kill` is followed by, beside the
/// signal.
fn signalled(template: &str) -> Option<Placeholder> {
    let named = template.strip_prefix("kill ").into_iter().flat_map(holes).find_map(|(_, name)| name);
    named.and_then(Placeholder::named).filter(|placeholder| placeholder.shape() == Shape::Process)
}

/// The command that a template is with these values, each quoted for the shell. None when one is missing, and for a
/// `kill` when it is not known when the process started, as of one that gave no answer.
pub(crate) fn command(template: &str, values: &Values) -> Option<String> {
    let filled = fill(template, values, |value| quote_for_shell(value).map(Cow::from))?;
    match signalled(template) {
        None => Some(filled),
        Some(process) => {
            let (pid, start) = values.get(process)?.split_once('@').filter(|(_, start)| *start != "0")?;
            Some(only_if_started_at(start, pid, &filled))
        }
    }
}

/// The template as it is shown where nothing has been found.
pub(crate) fn shown(template: &'static str) -> Cow<'static, str> {
    match signalled(template) {
        None => template.into(),
        Some(process) => only_if_started_at("{start}", &format!("{{{}}}", process.as_str()), template).into(),
    }
}

/// As one command, so that `sudo` and any shell take it: `sh` compares and signals, which leaves no time for the pid to be
/// reused. In `stat` the state and 18 numbers stand between the last `)` and the start time (proc_pid_stat(5), fields 3 to
/// 22). The name before that `)` may hold anything, but only 15 bytes of it, too few for 19 fields.
fn only_if_started_at(start: &str, pid: &str, kill: &str) -> String {
    format!(r#"sh -c "grep -Eq '[)] . ([-0-9]+ ){{18}}{start} ' /proc/{pid}/stat && {kill}""#)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::{Advice, ProcessId, cause};

    /// The shells that a node may have, as far as this machine has them; `sh` is always there.
    fn shells() -> Vec<Vec<&'static str>> {
        let known = [vec!["sh"], vec!["dash"], vec!["bash"], vec!["busybox", "sh"], vec!["zsh"], vec!["fish"]];
        let is_here = |shell: &Vec<&str>| {
            let trial = Command::new(shell[0]).args(&shell[1..]).args(["-c", "true"]).output();
            shell[0] == "sh" || trial.is_ok_and(|output| output.status.success())
        };
        known.into_iter().filter(is_here).collect()
    }

    fn sleeping() -> Child {
        Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap()
    }

    fn started(pid: u32) -> u64 {
        let stat = String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).unwrap()).into_owned();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap()
    }

    fn command_for(template: &str, pid: u32, start_ticks: u64) -> String {
        command(template, &Values::new().with(Placeholder::Pid, ProcessId { pid, start_ticks })).unwrap()
    }

    fn has_succeeded(shell: &[&str], command: &str) -> bool {
        Command::new(shell[0]).args(&shell[1..]).args(["-c", command]).output().unwrap().status.success()
    }

    /// The command would wait for its `stat` as the agent did.
    #[test]
    fn no_step_kills_what_gave_no_answer() {
        let silent = ProcessId { pid: 4242, start_ticks: 0 };
        let values = Values::new().with(Placeholder::Pid, silent);
        assert!(!silent.may_be_asked());
        assert_eq!(command("kill -9 {pid}", &values), None);
        assert!(command("grep State /proc/{pid}/status", &values).is_some());
    }

    #[test]
    fn it_ends_the_process_that_was_seen() {
        for shell in shells() {
            for (template, signal) in [("kill {pid}", 15), ("kill -9 {pid}", 9), ("kill -USR1 {pid}", 10)] {
                let mut child = sleeping();
                let command = command_for(template, child.id(), started(child.id()));
                assert!(has_succeeded(&shell, &command), "{shell:?} {command}");
                assert_eq!(child.wait().unwrap().signal(), Some(signal), "{shell:?} {command}");
            }
        }
    }

    #[test]
    fn it_leaves_another_process_of_the_same_pid_alone() {
        for shell in shells() {
            let mut child = sleeping();
            let pid = child.id();
            let real = started(pid);
            // One tick is enough, and a number that only begins or ends alike is another.
            for other in [real - 1, real + 1, real * 10, real / 10, 1] {
                assert!(!has_succeeded(&shell, &command_for("kill -9 {pid}", pid, other)), "{shell:?}");
            }
            assert_eq!(child.try_wait().unwrap(), None, "{shell:?}: it lives");
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(!has_succeeded(&shell, &command_for("kill {pid}", pid, real)), "{shell:?}: it is gone");
        }
    }

    /// A process chooses its name, and the name stands before what is compared.
    #[test]
    fn no_name_misleads_it() {
        use std::os::unix::{ffi::OsStrExt, fs::symlink};

        for name in
            [&b") S 1 1 1 1 1 1"[..], b"a) (b) ", b"x\xff\xfe) R 7", b"new\nline)", b"$(reboot)'\"`", b") S 1 -1 0 7 7"]
        {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(std::ffi::OsStr::from_bytes(name));
            symlink("/bin/sleep", &path).unwrap();
            let mut child = Command::new(&path).arg("600").spawn().unwrap();
            let start = started(child.id());
            for locale in ["C", "C.UTF-8"] {
                let try_with = |start| {
                    let command = command_for("kill {pid}", child.id(), start);
                    Command::new("sh").args(["-c", &command]).env("LC_ALL", locale).output().unwrap().status.success()
                };
                assert!(!try_with(start + 1) && !try_with(1) && !try_with(7), "{name:?}");
            }
            assert!(has_succeeded(&["sh"], &command_for("kill {pid}", child.id(), start)));
            assert_eq!(child.wait().unwrap().signal(), Some(15), "{name:?}");
        }
    }

    #[test]
    fn without_a_start_there_is_no_command() {
        assert_eq!(command("kill {pid}", &Values::new().with(Placeholder::Pid, 4242)), None);
        let values = Values::new().with(Placeholder::Pid, 4242);
        assert_eq!(command("ls /proc/{pid}/fd", &values).as_deref(), Some("ls /proc/4242/fd"));
        let values = values.with(Placeholder::Pid, ProcessId { pid: 4242, start_ticks: 7 });
        assert_eq!(command("ls /proc/{pid}/fd", &values).as_deref(), Some("ls /proc/4242/fd"));
    }

    /// No command of the registry says `kill` in a way that is not guarded, and nothing else ends a process.
    #[test]
    fn the_registry_has_no_bare_kill() {
        let is_word =
            |word: &str, template: &str| template.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == word);
        let mut guarded = 0;
        for (cause, advice) in cause::all().flat_map(|cause| cause.safe.iter().map(move |advice| (cause, advice))) {
            let Advice { text, command: Some(template), .. } = advice else { continue };
            let id = cause.id;
            for other in ["pkill", "killall", "skill", "fuser"] {
                assert!(!is_word(other, template), "{id}: {template}");
            }
            if !is_word("kill", template) {
                continue;
            }
            let process = signalled(template).unwrap_or_else(|| panic!("{id}: {template}: a bare kill"));
            let hole = format!("{{{}}}", process.as_str());
            let signals = ["", "-9 ", "-CONT ", "-USR1 "];
            assert!(signals.iter().any(|signal| *template == format!("kill {signal}{hole}")), "{id}: {template}");
            assert!(shown(template).starts_with("sh -c \"grep -Eq "), "{id}");
            assert!(advice.fill(&only(process, "4242@7")).is_some(), "{id}: {text}");
            assert_eq!(advice.fill(&only(process, "4242")), None, "{id}: {text}: without its start");
            guarded += 1;
        }
        assert!(guarded > 15, "{guarded}");
    }

    /// Values for all that any step needs, and this one for the process.
    fn only(process: Placeholder, value: &str) -> Values {
        let values = Placeholder::ALL.iter().fold(Values::new(), |values, placeholder| match placeholder.shape() {
            Shape::Text => values.with(*placeholder, "x"),
            Shape::Process => values.with(*placeholder, "7@7"),
            _ => values,
        });
        values.with(process, value)
    }
}

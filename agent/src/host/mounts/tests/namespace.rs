//! For tests: real mounts in a mount namespace of their own, which vanish with it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A shell in a private mount namespace, which runs a test's commands.
pub(crate) struct Namespace {
    shell: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    started: Vec<u32>,
}

impl Namespace {
    /// A new namespace.
    pub(crate) fn new() -> Self {
        assert!(nix::unistd::geteuid().is_root(), "this test makes mounts: run it as root");
        Self::start(Command::new("unshare").args(["-m", "sh"]))
    }

    /// A namespace made from this one, with the given propagation (`private`, `slave`,
    /// `unchanged`).
    pub(crate) fn copy(&self, propagation: &str) -> Self {
        let pid = self.pid().to_string();
        Self::start(
            Command::new("nsenter").args(["-m", "-t", &pid, "unshare", "-m", "--propagation", propagation, "sh"]),
        )
    }

    fn start(command: &mut Command) -> Self {
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (shell.stdin.take().unwrap(), BufReader::new(shell.stdout.take().unwrap()));
        let mut namespace = Namespace { shell, stdin, stdout, started: Vec::new() };
        namespace.run("true");
        namespace
    }

    /// The shell's pid.
    pub(crate) fn pid(&self) -> u32 {
        self.shell.id()
    }

    /// Runs a command; the test fails if it fails.
    pub(crate) fn run(&mut self, command: &str) -> String {
        let (output, status) = self.attempt(command);
        assert_eq!(status, 0, "{command}: {output}");
        output
    }

    /// Runs a command: its output and exit status.
    pub(crate) fn attempt(&mut self, command: &str) -> (String, i32) {
        writeln!(self.stdin, "{{ {command}\n}} 2>&1; echo \"== $?\"").unwrap();
        let mut output = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the shell ended: {command}");
            match line.strip_prefix("== ") {
                Some(status) => return (output, status.trim().parse().unwrap()),
                None => output.push_str(&line),
            }
        }
    }

    /// Starts a process that lives until the namespace is dropped; its pid.
    pub(crate) fn spawn(&mut self, command: &str) -> u32 {
        let pid = self.run(&format!("( exec {command} ) >/dev/null 2>&1 & echo $!"));
        let pid = pid.trim().parse().unwrap();
        self.started.push(pid);
        // Until it sleeps in the program that is meant, it may still be the shell or `env`.
        let settled = || {
            let stat = crate::sys::read_capped(format!("/proc/{pid}/stat").as_ref(), 4096).ok();
            let stat = stat.and_then(|bytes| crate::parse::stat(&bytes));
            stat.is_none_or(|stat| stat.state == 'S' && !["sh", "env", "unshare"].contains(&stat.comm.as_str()))
        };
        for _ in 0..1000 {
            if settled() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        pid
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The shell has not waited for them, so these pids are still theirs.
        let started: Vec<String> = self.started.iter().map(u32::to_string).collect();
        let _ = writeln!(self.stdin, "kill -9 {} 2>/dev/null; exit", started.join(" "));
        for _ in 0..200 {
            if matches!(self.shell.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let _ = self.shell.kill();
    }
}

/// For a test of what a kernel may refuse: it says that it cannot run, also where it is counted as passed. Not by
/// `eprintln!`: the test harness hides what a passed test prints with it.
pub(crate) fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED: {name}: {why}");
}

//! Starting processes that outlive the lab's command.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use nix::mount::MsFlags;

use crate::{Layout, cgroup, mounts};

/// A stand-in process to be started: its place among the node's services, its name, its part.
#[derive(Clone, Debug)]
pub struct Launch {
    unit: String,
    program: Program,
    args: Vec<OsString>,
    path: Option<OsString>,
    own_mount_namespace: bool,
}

#[derive(Clone, Debug)]
enum Program {
    /// The lab's binary, seen in `comm` under this name.
    StandIn(String),
    /// Another program.
    Installed(PathBuf),
}

impl Launch {
    /// The lab's binary as a process called `name`, with the arguments of its part.
    pub fn stand_in(name: &str) -> Self {
        Self {
            unit: name.to_owned(),
            program: Program::StandIn(name.to_owned()),
            args: Vec::new(),
            path: None,
            own_mount_namespace: false,
        }
    }

    /// An installed program as the service `unit`.
    pub fn program(unit: &str, path: impl Into<PathBuf>) -> Self {
        Self {
            unit: unit.to_owned(),
            program: Program::Installed(path.into()),
            args: Vec::new(),
            path: None,
            own_mount_namespace: false,
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Gives it another search path for programs.
    pub fn search_path(mut self, path: &str) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Gives it a mount namespace of its own, from which nothing comes out and nothing gets in.
    pub fn own_mount_namespace(mut self) -> Self {
        self.own_mount_namespace = true;
        self
    }

    /// Starts it and returns its pid.
    ///
    /// A helper process in between enters the cgroups first, so that no process of the lab is ever
    /// outside of them, and then ends, so that the process belongs to init and is never the
    /// caller's zombie.
    pub fn start(self, layout: &Layout) -> anyhow::Result<i32> {
        let program = match &self.program {
            Program::StandIn(name) => stand_in_link(layout, name)?,
            Program::Installed(path) => path.clone(),
        };
        let mut launcher = Command::new(layout.binary());
        if let Some(path) = &self.path {
            launcher.env("PATH", path);
        }
        launcher.args(["stand-in", "launcher"]);
        if self.own_mount_namespace {
            launcher.arg("--own-mount-namespace");
        }
        let output = launcher
            .args(["--unit", &self.unit, "--log"])
            .arg(layout.log(&self.unit))
            .arg("--")
            .arg(&program)
            .args(&self.args)
            .env(crate::node::DIR_VARIABLE, layout.dir())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("start {}", program.display()))?;
        anyhow::ensure!(output.status.success(), "the launcher of {} failed: see above", self.unit);
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().with_context(|| format!("the launcher of {} printed no pid: {text:?}", self.unit))
    }
}

/// The kernel takes `comm` from the name of the file that is executed, also when it is a link.
fn stand_in_link(layout: &Layout, name: &str) -> anyhow::Result<PathBuf> {
    let link = layout.binary().with_file_name(name);
    match symlink("lab", &link) {
        Ok(()) => Ok(link),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(link),
        Err(error) => Err(error).with_context(|| format!("create {}", link.display())),
    }
}

/// The part of the helper process.
#[derive(Debug, clap::Args)]
pub struct Launcher {
    /// The service to be in.
    #[arg(long)]
    unit: String,
    /// Where its output goes.
    #[arg(long)]
    log: PathBuf,
    /// Whether it gets a private mount namespace.
    #[arg(long)]
    own_mount_namespace: bool,
    /// The program and its arguments.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Launcher {
    /// Starts the program and prints its pid.
    pub fn run(self) -> anyhow::Result<()> {
        cgroup::enter_unit(&self.unit)?;
        nix::unistd::setsid().context("leave the terminal")?;
        nix::unistd::chdir("/").context("leave the working directory")?;
        let log = append(&self.log)?;
        if self.own_mount_namespace {
            mounts::enter_namespace(MsFlags::MS_PRIVATE)?;
        }
        let (program, args) = self.command.split_first().context("a program to start")?;
        let child = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", program.display()))?;
        println!("{}", child.id());
        Ok(())
    }
}

fn append(path: &std::path::Path) -> anyhow::Result<File> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    File::options().create(true).append(true).open(path).with_context(|| format!("open {}", path.display()))
}

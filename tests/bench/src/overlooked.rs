//! Who finds whom: one busy volume for each way to hold one, and three tools asked about each.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum as _;
use lab::{Gate, Launch, Node, PodRef, PodSpec, mounts, wait_for};
use serde_json::{Value, json};

use crate::{hold::How, measure::Tool};

/// A volume that one holder keeps busy.
struct Busy {
    pod: PodRef,
    volume: PathBuf,
    what: &'static str,
    holder: Holder,
}

/// What holds it.
enum Holder {
    Process(i32),
    LoopDevice(PathBuf),
}

/// What one tool said about one volume.
pub struct Answer {
    /// Whether it named the holder.
    pub found: bool,
    /// How many processes it named in all.
    pub named: usize,
}

/// One line of the table.
pub struct Row {
    /// How the volume was held.
    pub what: &'static str,
    /// `check`.
    pub check: Answer,
    /// `lsof`.
    pub lsof: Answer,
    /// `fuser -m`.
    pub fuser: Answer,
}

/// Stages every way, asks, and lets the volumes go: that the kubelet can then unmount each of them
/// proves that the holder was the holder.
pub fn table(node: &Node, check: &Tool) -> anyhow::Result<Vec<Row>> {
    eprintln!("bench: holding volumes in unusual ways");
    let busy = stage(node)?;
    let report = check.run()?.output;
    let report: Value = serde_json::from_str(&report).context("read the agent's answer")?;
    let rows = busy.iter().map(|busy| row(busy, &report)).collect::<anyhow::Result<Vec<Row>>>()?;
    for busy in &busy {
        busy.holder.end()?;
        node.wait_gone(&busy.pod, Duration::from_secs(30))
            .with_context(|| format!("after the end of: {}", busy.what))?;
    }
    Ok(rows)
}

fn stage(node: &Node) -> anyhow::Result<Vec<Busy>> {
    let lab = |args: &[&str]| {
        let args: Vec<String> = ["stand-in", "hold"].iter().chain(args).map(|&arg| arg.to_owned()).collect();
        move |volume: &Path| launch(node, args.iter().map(Into::into).chain([volume.join("data").into_os_string()]))
    };
    let own = |how: How| {
        let how = how.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        move |volume: &Path| launch(node, ["hold".into(), how.clone().into(), volume.as_os_str().to_owned()])
    };
    Ok(vec![
        busy(node, "open-file", "a process of the host, open file", lab(&["--open"]))?,
        busy(node, "mapped-file", "a process of the host, file mapped and closed", lab(&["--map"]))?,
        busy(
            node,
            "propagated",
            "a process in another mount namespace, open file in the propagated copy",
            lab(&["--namespace", "slave", "--open"]),
        )?,
        busy(node, "thread-cwd", "a second thread with a working directory of its own", own(How::ThreadCwd))?,
        busy(
            node,
            "zombie-leader",
            "a living thread of a process whose first thread has ended",
            own(How::ZombieLeader),
        )?,
        busy(node, "socket", "a bound Unix socket in another network namespace", own(How::Socket))?,
        busy(node, "loop-device", "a loop device on a file in it (no process)", loop_device)?,
        bound(node, lab(&["--open"]))?,
    ])
}

/// A pod whose volume, a tmpfs, is held.
fn busy(
    node: &Node,
    name: &str,
    what: &'static str,
    hold: impl FnOnce(&Path) -> anyhow::Result<Holder>,
) -> anyhow::Result<Busy> {
    let mut spec = PodSpec::new(&format!("held-by-{name}"));
    let volume = node.empty_dir(&mut spec, "data", true)?;
    finish(node, spec, volume, what, hold)
}

/// A pod whose volume is a directory of the node's disk, mounted: a local volume.
fn bound(node: &Node, hold: impl FnOnce(&Path) -> anyhow::Result<Holder>) -> anyhow::Result<Busy> {
    const PLUGIN: &str = "kubernetes.io~local-volume";
    let mut spec = PodSpec::new("held-local-volume");
    let disk = node.layout().dir().join("local-disk");
    let volume = node.layout().pod_dir(&spec.pod.uid).join("volumes").join(PLUGIN).join("data");
    // An API object and a record first: what has neither is an orphan, which the kubelet removes.
    spec.volume(PLUGIN, "data", json!({"persistentVolumeClaim": {"claimName": "data"}}));
    node.run(&spec)?;
    for dir in [&disk, &volume] {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
    }
    fs::write(disk.join("data"), "x").context("write to the local disk")?;
    mounts::bind(&disk, &volume)?;
    delete(
        node,
        spec,
        volume,
        "a process of the host, open file in a local volume (a directory of the node's disk, bind-mounted)",
        hold,
    )
}

fn finish(
    node: &Node,
    spec: PodSpec,
    volume: PathBuf,
    what: &'static str,
    hold: impl FnOnce(&Path) -> anyhow::Result<Holder>,
) -> anyhow::Result<Busy> {
    node.run(&spec)?;
    delete(node, spec, volume, what, hold)
}

fn delete(
    node: &Node,
    spec: PodSpec,
    volume: PathBuf,
    what: &'static str,
    hold: impl FnOnce(&Path) -> anyhow::Result<Holder>,
) -> anyhow::Result<Busy> {
    let holder = hold(&volume)?;
    if let Holder::Process(pid) = holder {
        wait_for(&format!("process {pid} holds {}", volume.display()), Duration::from_secs(10), || {
            Ok(holds(pid, &volume).then_some(()))
        })
        .with_context(|| format!("{what} (its output is in {})", node.layout().log("backup").display()))?;
    }
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok(Busy { pod: spec.pod, volume, what, holder })
}

fn launch(node: &Node, args: impl IntoIterator<Item = std::ffi::OsString>) -> anyhow::Result<Holder> {
    node.launch(Launch::stand_in("backup").args(args)).map(Holder::Process)
}

fn loop_device(volume: &Path) -> anyhow::Result<Holder> {
    let file = volume.join("disk.img");
    fs::write(&file, vec![0; 1 << 20]).with_context(|| format!("write {}", file.display()))?;
    let output = Command::new("losetup").args(["--find", "--show"]).arg(&file).output().context("run losetup")?;
    anyhow::ensure!(output.status.success(), "losetup: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Holder::LoopDevice(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())))
}

/// Whether any thread of a process holds something of a volume by now.
fn holds(pid: i32, volume: &Path) -> bool {
    if volume.join("sock").symlink_metadata().is_ok() {
        return true;
    }
    let points_in = |link: &Path| fs::read_link(link).is_ok_and(|target| target.starts_with(volume));
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| thread.path()).any(|thread| {
        let mut open = fs::read_dir(thread.join("fd")).into_iter().flatten().flatten();
        let maps = fs::read(thread.join("maps")).unwrap_or_default();
        let path = volume.as_os_str().as_bytes();
        open.any(|entry| points_in(&entry.path()))
            || points_in(&thread.join("cwd"))
            || maps.windows(path.len()).any(|window| window == path)
    })
}

impl Holder {
    fn end(&self) -> anyhow::Result<()> {
        match self {
            Holder::Process(pid) => {
                use nix::{sys::signal, unistd::Pid};
                signal::kill(Pid::from_raw(*pid), signal::Signal::SIGKILL).context("end the holder")
            }
            Holder::LoopDevice(device) => {
                let status = Command::new("losetup").arg("--detach").arg(device).status().context("run losetup")?;
                anyhow::ensure!(status.success(), "losetup could not detach {}", device.display());
                Ok(())
            }
        }
    }

    /// As a tool would name it.
    fn name(&self) -> String {
        match self {
            Holder::Process(pid) => pid.to_string(),
            Holder::LoopDevice(device) => {
                device.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
            }
        }
    }
}

fn row(busy: &Busy, report: &Value) -> anyhow::Result<Row> {
    let volume = busy.volume.as_os_str();
    let lsof = Tool::new("lsof", ["-n".as_ref(), "-P".as_ref(), "-t".as_ref(), "+f".as_ref(), "--".as_ref(), volume]);
    let fuser = Tool::new("fuser", ["-m".as_ref(), volume]);
    let name = busy.holder.name();
    let of_pids = |output: &str| {
        let words: Vec<&str> = output.split_whitespace().collect();
        Answer { found: words.contains(&name.as_str()), named: words.len() }
    };
    Ok(Row {
        what: busy.what,
        check: of_report(busy, report, &name),
        lsof: of_pids(&lsof.run()?.output),
        fuser: of_pids(&fuser.run()?.output),
    })
}

/// In the agent's answer: whether the finding about this pod names the holder in its chain, and
/// how many processes it names there.
fn of_report(busy: &Busy, report: &Value, name: &str) -> Answer {
    let pods = report["pods"].as_array().into_iter().flatten();
    let pod = pods.clone().find(|pod| pod["pod"]["uid"] == busy.pod.uid.as_str()).unwrap_or(&Value::Null);
    let findings = pod["findings"].as_array().into_iter().flatten();
    let chain: String = findings.map(|finding| finding["chain"].to_string()).collect();
    let words = chain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let pids: std::collections::BTreeSet<&str> =
        words.windows(2).filter(|pair| pair[0] == "pid").map(|pair| pair[1]).collect();
    Answer { found: words.contains(&name), named: pids.len() }
}

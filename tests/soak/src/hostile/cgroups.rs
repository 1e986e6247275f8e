//! Cgroups a thousand deep below that of a pod.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lab::{Launch, Node, PodRef, cgroup};

const DEPTH: usize = 1000;

/// Makes them and puts a process, whose pid is returned, into the deepest.
pub fn deep(node: &Node, pod: &PodRef) -> anyhow::Result<i32> {
    let sleeper = node.launch(Launch::program("sleeper", "sleep").arg("100000"))?;
    let mut dir = place(pod);
    for _ in 0..DEPTH {
        dir.push("d");
        fs::create_dir(&dir).context("create a cgroup in a cgroup")?;
    }
    cgroup::join(&dir, sleeper)?;
    Ok(sleeper)
}

/// Removes them, the deepest first.
pub fn remove(pod: &PodRef) -> anyhow::Result<()> {
    cgroup::remove_tree(&place(pod).join("d")).context("remove the deep cgroups")
}

fn place(pod: &PodRef) -> PathBuf {
    let freezer = Path::new("/sys/fs/cgroup/freezer");
    cgroup::below(if freezer.is_dir() { freezer } else { cgroup::tagging() }, &pod.cgroup())
}

//! The end of `make demo`: the service's page of what the agent found.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, ensure};
use lab::{Node, scenario};

use super::ask;

/// The address is printed, and a picture is taken where there is a browser.
pub fn shows_what_the_agent_found() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let scenario = scenario::find("cwd").context("the lab has no scenario cwd")?;
    (scenario.stage)(&node).context("stage cwd")?;
    let picture = node.layout().dir().join("page.png");
    let said = page(&picture, Some(Path::new("/nonexistent")))?;
    ensure!(said.contains("the page: https://localhost:") && said.contains("no browser was found"), "{said}");
    ensure!(!picture.exists(), "a picture was taken of nothing");
    let said = page(&picture, None)?;
    ensure!(said.contains(&format!("a picture of it: {}", picture.display())), "{said}");
    ensure!(fs::read(&picture)?.starts_with(b"\x89PNG"), "it is no picture");
    node.down().context("take the node down")
}

/// What `lab page` prints, with programs found there or as usual. It does not wait for Enter: this is no terminal.
fn page(picture: &Path, programs: Option<&Path>) -> anyhow::Result<String> {
    let mut command = Command::new(ask::binary()?.with_file_name("lab"));
    command.arg("page").arg("--picture").arg(picture);
    if let Some(programs) = programs {
        command.env("PATH", programs);
    }
    let done = command.output().context("run lab page")?;
    ensure!(done.status.success(), "lab page: {}", String::from_utf8_lossy(&done.stderr));
    Ok(String::from_utf8(done.stdout)?)
}

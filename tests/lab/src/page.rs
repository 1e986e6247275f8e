//! The service's page of what the agent finds on a staged node.

use std::collections::BTreeSet;
use std::fs;
use std::io::IsTerminal as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use browser::{Browser, Format};
use lab::{Launch, Layout, Node, wait_for};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// An agent waits between its scans and before it reports; here it need not.
const QUICK: [&str; 7] = [
    "--listen=off", "--first-scan=1s", "--scan-interval=1s", "--scans=1", "--d-state-scans=1", "--event-spread=0s",
    "--event-burst=100",
];
/// The fake API server takes each token for the name of a user with all rights.
const TOKEN: &str = "demo";
const LIMIT: Duration = Duration::from_secs(60);
/// The viewer of the page may forget the terminal.
const LOOKING: Duration = Duration::from_secs(600);

/// Starts both as services of the node, which end with it. At a terminal they stay up for a while.
pub fn page(dir: &Path, picture: &Path) -> anyhow::Result<()> {
    let node = Node::open(dir)?;
    let layout = node.layout();
    Launch::program("agent", program("why-terminating-agent")?)
        .arg("run")
        .args(node.agent_args())
        .args(QUICK)
        .start(layout)?;
    wait_for("the agent tells of each pod", LIMIT, || Ok(is_told(&node)?.then_some(())))
        .with_context(|| said(layout, "agent"))?;
    // After the Events, so that its first judgement has everything that the agent has reported.
    let address = serve(&node).with_context(|| said(layout, "service"))?;
    println!("the page: {address}");
    println!("(its certificate was made at the start, so a browser warns of it; the token is {TOKEN:?})");
    match browser::installed() {
        None => println!("no browser was found: no picture of the page was taken"),
        Some(program) => match draw(&program, layout, &address) {
            Ok(png) => {
                fs::write(picture, png).with_context(|| format!("write {}", picture.display()))?;
                println!("a picture of it: {}", picture.display());
            }
            Err(error) => println!("{} took no picture of the page: {error:#}", program.display()),
        },
    }
    wait_for_enter()
}

/// A program that was built together with this one.
fn program(name: &str) -> anyhow::Result<std::path::PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.exists(), "{} is missing: build it first", path.display());
    Ok(path)
}

fn said(layout: &Layout, unit: &str) -> String {
    format!("the {unit} has said: {}", fs::read_to_string(layout.log(unit)).unwrap_or_default())
}

/// Whether an Event names each pod that is being deleted.
fn is_told(node: &Node) -> anyhow::Result<bool> {
    let told: BTreeSet<String> =
        node.store().events()?.iter().map(|event| event["related"]["uid"].to_string()).collect();
    let pods = node.store().pods()?;
    let going = pods.iter().map(|pod| &pod["metadata"]).filter(|pod| !pod["deletionTimestamp"].is_null());
    Ok(going.map(|pod| pod["uid"].to_string()).all(|uid| told.contains(&uid)))
}

/// Starts the service; returns the page's address.
fn serve(node: &Node) -> anyhow::Result<String> {
    let free: SocketAddr = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    Launch::program("service", program("why-terminating-aggregator")?)
        .args(["serve", "--no-events"])
        .arg(format!("--listen={free}"))
        .arg(format!("--kubeconfig={}", node.layout().kubeconfig().display()))
        .start(node.layout())?;
    wait_for("the service listens", LIMIT, || Ok(TcpStream::connect(free).ok()))?;
    Ok(format!("https://localhost:{}/", free.port()))
}

/// What the page shows of a root that is a process, if one is.
fn draw(program: &Path, layout: &Layout, address: &str) -> anyhow::Result<Vec<u8>> {
    let mut browser = Browser::start(program, layout.dir())?;
    browser.screen(1200, 1000, "light")?;
    browser.open(address)?;
    browser.until("document.activeElement?.id === 'token'")?;
    browser.types(TOKEN)?;
    browser.enter()?;
    browser.until("document.querySelector('.roots li') !== null")?;
    browser.eval(
        "const roots = [...document.querySelectorAll('[data-root]')];
        (roots.find((root) => root.querySelector('.name').textContent.startsWith('pid ')) ?? roots[0]).click()",
    )?;
    browser.until("document.querySelector('.picture') !== null")?;
    browser.picture(Format::Png)
}

/// Waits only at a terminal: elsewhere no viewer is there.
fn wait_for_enter() -> anyhow::Result<()> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    println!("\nEnter ends it all; so do {} minutes.", LOOKING.as_secs() / 60);
    let mut descriptors = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    poll(&mut descriptors, PollTimeout::try_from(LOOKING)?)?;
    Ok(())
}

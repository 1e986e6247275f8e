//! The lab's processes: its own binary, executed again in another part.

mod api_tls;
pub mod csi;
mod false_runtime;
mod foreign_parent;
mod hangfs;
mod hold;
mod reader;
mod reused_pid;
mod runner;
mod serve_api;
mod tracer;

use std::ffi::OsStr;

use clap::{Parser, Subcommand};

use crate::{kubelet::Kubelet, launch::Launcher};

/// A part that the binary can play.
#[derive(Debug, Parser)]
#[command(name = "stand-in")]
struct StandIn {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Starts another process and ends.
    Launcher(Launcher),
    /// The fake API server.
    Apiserver(serve_api::ServeApi),
    /// The fake API server, inside a pod's network.
    ApiTls(api_tls::ApiTls),
    /// A FUSE server that does not answer everything.
    Hangfs(hangfs::HangFs),
    /// A process that holds something.
    Hold(hold::Hold),
    /// A process whose second thread reads a file.
    Reader(reader::Reader),
    /// Two processes of one pid in turn.
    ReusedPid(reused_pid::ReusedPid),
    /// A process that runs another program with a file open.
    Runner(runner::Runner),
    /// A process outside of a pid namespace with a child in it.
    ForeignParent(foreign_parent::ForeignParent),
    /// A debugger that does not let its process go.
    Tracer(tracer::Tracer),
    /// A CSI driver's node part.
    CsiDriver(csi::CsiDriver),
    /// A runtime that tries to exhaust its caller.
    FalseRuntime(false_runtime::FalseRuntime),
}

/// If this process was started as a stand-in, plays the part and returns how it ended; otherwise
/// nothing. To be called before anything else: threads of the caller would be in the way.
pub fn take_over() -> Option<anyhow::Result<()>> {
    let mut args = std::env::args_os();
    let name = args.next()?;
    if std::path::Path::new(&name).file_name() == Some(OsStr::new("kubelet")) {
        return Some(Kubelet::parse().run());
    }
    if args.next()? != "stand-in" {
        return None;
    }
    let part = StandIn::parse_from(std::env::args_os().skip(1)).part;
    Some(match part {
        Part::Launcher(part) => part.run(),
        Part::Apiserver(part) => part.run(),
        Part::ApiTls(part) => part.run(),
        Part::Hangfs(part) => part.run(),
        Part::Hold(part) => part.run(),
        Part::Reader(part) => part.run(),
        Part::ReusedPid(part) => part.run(),
        Part::Runner(part) => part.run(),
        Part::ForeignParent(part) => part.run(),
        Part::Tracer(part) => part.run(),
        Part::CsiDriver(part) => part.run(),
        Part::FalseRuntime(part) => part.run(),
    })
}

/// Does nothing until killed.
fn wait_forever() -> ! {
    loop {
        std::thread::park();
    }
}

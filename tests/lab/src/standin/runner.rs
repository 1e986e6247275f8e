//! A process that has a file open which the program that it runs next is not to have.

use std::{fs::File, os::unix::process::CommandExt as _, path::PathBuf, process::Command};

/// Opens a file, and runs another program in its place.
#[derive(Debug, clap::Args)]
pub struct Runner {
    /// The file.
    file: PathBuf,
}

impl Runner {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let _file = File::open(self.file)?;
        Err(Command::new("/bin/sleep").arg("2147483647").exec().into())
    }
}

//! A process whose second thread is stuck, so that its leader can die alone.

use std::{fs, path::PathBuf, thread};

/// Reads a file in a second thread while the first one waits.
#[derive(Debug, clap::Args)]
pub struct Reader {
    /// The file.
    file: PathBuf,
}

impl Reader {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        thread::spawn(move || fs::read(self.file));
        super::wait_forever()
    }
}

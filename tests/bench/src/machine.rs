//! What was measured on: the machine, and what the node on it really has.

use std::{collections::HashMap, ffi::OsStr, fs, path::Path, process::Command};

/// The machine in one line.
pub fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown CPU", |(_, model)| model).to_owned();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 = memory.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0);
    format!("{cores} cores ({model}), {} GiB of memory, Linux {}", kib >> 20, kernel.trim())
}

/// The first line with a version in it that `program` prints.
pub fn version(program: impl AsRef<OsStr>, flag: &str) -> String {
    let program = program.as_ref();
    let Ok(output) = Command::new(program).arg(flag).output() else {
        return format!("{}: not installed", program.display());
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit())).unwrap_or_default();
    line.trim().to_owned()
}

/// The load of the last minute.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN)
}

/// How full the machine is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Census {
    /// Processes.
    pub processes: usize,
    /// Their open files.
    pub descriptors: usize,
    /// Mount namespaces.
    pub namespaces: usize,
    /// Mounts in all of them.
    pub mounts: usize,
    /// Processes in the namespace that this program is in, which is the kubelet's.
    pub on_host: usize,
}

impl Census {
    /// Counts; kernel threads have no mount namespace to be seen and are left out.
    pub fn take() -> Self {
        let mut census = Self::default();
        let mut namespaces: HashMap<_, usize> = HashMap::new();
        let own = fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(namespace) = fs::read_link(path.join("ns/mnt")) else { continue };
            if !entry.file_name().to_string_lossy().starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            census.processes += 1;
            census.on_host += usize::from(namespace == own);
            census.descriptors += fs::read_dir(path.join("fd")).map_or(0, Iterator::count);
            namespaces.entry(namespace).or_insert_with(|| lines(&path.join("mountinfo")));
        }
        census.namespaces = namespaces.len();
        census.mounts = namespaces.values().sum();
        census
    }
}

fn lines(path: &Path) -> usize {
    fs::read(path).unwrap_or_default().iter().filter(|&&byte| byte == b'\n').count()
}

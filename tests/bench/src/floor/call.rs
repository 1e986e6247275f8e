//! The calls that `strace` wrote down.

use std::{collections::BTreeMap, ffi::CString};

/// A call that reads something of the node. Descriptors are numbered as they were opened; none is the working directory.
#[derive(Debug, PartialEq, Eq)]
pub enum Call {
    /// `openat` and `openat2`.
    Open { dir: Option<i32>, path: CString, flags: i32, resolve: Option<u64>, fd: Option<i32> },
    /// `readlinkat`.
    ReadLink { dir: Option<i32>, path: CString, found: bool },
    /// `read`.
    Read { fd: i32, room: usize },
    /// `getdents64`.
    List { fd: i32, room: usize },
    /// `fstat`, and `statx` of what is open.
    Facts { fd: i32 },
    /// `statx` of what has a name.
    FactsAt { dir: Option<i32>, path: CString, flags: i32, found: bool },
    /// `close`.
    Close { fd: i32 },
}

/// What is known while the lines are read.
#[derive(Default)]
struct Recording<'a> {
    /// Calls that others were written down in the middle of, by thread.
    begun: BTreeMap<&'a str, &'a str>,
    /// What each thread has open: the place of its process in `open`.
    processes: BTreeMap<String, usize>,
    open: Vec<Open>,
    opened: i32,
}

/// The number of each descriptor of one process.
#[derive(Clone, Default)]
struct Open {
    numbers: BTreeMap<i32, i32>,
    /// Up to here they are those of the process that it is a copy of.
    inherited: i32,
}

/// `CLONE_THREAD`
const THREAD: i64 = 0x10000;
/// `AT_FDCWD`, which is shown unsigned as well.
const CWD: [i64; 2] = [-100, 0xffff_ff9c];

/// The calls in it, in their order.
pub fn recorded(text: &str) -> Vec<Call> {
    let mut recording = Recording { open: vec![Open::default()], ..Recording::default() };
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((pid, call, result)) = recording.whole(line) else { continue };
        let process = recording.process(pid);
        if call.starts_with("clone") {
            recording.note(process, &call, &result.to_string());
        } else {
            calls.extend(read(&call, result).and_then(|call| recording.numbered(process, call)));
        }
    }
    calls
}

impl<'a> Recording<'a> {
    /// Thread, name, arguments and result of a call that is complete with this line.
    fn whole(&mut self, line: &'a str) -> Option<(&'a str, String, i64)> {
        let (pid, rest) = line.split_once(' ')?;
        let rest = rest.trim_start();
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            self.begun.insert(pid, begin);
            return None;
        }
        let whole = match rest.strip_prefix("<... ") {
            Some(end) => format!("{}{}", self.begun.remove(pid)?, end.split_once(" resumed>")?.1),
            None => rest.to_owned(),
        };
        let (call, result) = whole.rsplit_once(" = ")?;
        let result = result.split(' ').next()?.parse().ok()?;
        Some((pid, call.trim_end().strip_suffix(')')?.to_owned(), result))
    }

    /// The process of a thread. Its first call may be written down before the one that made it has returned.
    fn process(&mut self, pid: &str) -> usize {
        if !self.processes.contains_key(pid)
            && let Some((parent, call)) = self.begun.iter().find(|(_, call)| call.starts_with("clone"))
        {
            let (parent, call) = (self.processes.get(*parent).copied().unwrap_or(0), (*call).to_owned());
            self.note(parent, &call, pid);
        }
        self.processes.get(pid).copied().unwrap_or(0)
    }

    fn note(&mut self, parent: usize, call: &str, child: &str) {
        if self.processes.contains_key(child) {
            return;
        }
        let flags = call.split("flags=").nth(1).and_then(|flags| number(flags.split([',', '}']).next()?));
        let is_copy = flags.is_some_and(|flags| flags & THREAD == 0);
        if is_copy {
            self.open.push(Open { inherited: self.opened, ..self.open[parent].clone() });
        }
        self.processes.insert(child.to_owned(), if is_copy { self.open.len() - 1 } else { parent });
    }

    /// The call with the numbers of its descriptors; none of a descriptor that is no file of the node.
    fn numbered(&mut self, process: usize, call: Call) -> Option<Call> {
        let Open { numbers, inherited } = &mut self.open[process];
        let known = |fd: i32| numbers.get(&fd).copied();
        let dir_of = |dir: Option<i32>| dir.map_or(Some(None), |dir| known(dir).map(Some));
        Some(match call {
            Call::Open { dir, path, flags, resolve, fd } => {
                let dir = dir_of(dir)?;
                let fd = fd.map(|fd| {
                    self.opened += 1;
                    numbers.insert(fd, self.opened);
                    self.opened
                });
                Call::Open { dir, path, flags, resolve, fd }
            }
            Call::ReadLink { dir, path, found } => Call::ReadLink { dir: dir_of(dir)?, path, found },
            Call::Read { fd, room } => Call::Read { fd: known(fd)?, room },
            Call::List { fd, room } => Call::List { fd: known(fd)?, room },
            Call::Facts { fd } => Call::Facts { fd: known(fd)? },
            Call::FactsAt { dir, path, flags, found } => Call::FactsAt { dir: dir_of(dir)?, path, flags, found },
            Call::Close { fd } => Call::Close { fd: numbers.remove(&fd).filter(|fd| *fd > *inherited)? },
        })
    }
}

/// The call, if it is one that reads.
fn read(call: &str, result: i64) -> Option<Call> {
    let (name, args) = call.split_once('(')?;
    let args: Vec<&str> = args.split(", ").collect();
    let first = number(args.first()?)?;
    let (fd, dir) = (i32::try_from(first).ok(), (!CWD.contains(&first)).then_some(first));
    let dir = dir.map(i32::try_from).transpose().ok()?;
    let path = || path(args.get(1)?);
    let last = || usize::try_from(number(args.last()?)?).ok();
    let flags = |at: usize| i32::try_from(number(args.get(at)?)?).ok();
    let opened = i32::try_from(result).ok().filter(|fd| *fd >= 0);
    Some(match name {
        "openat" => Call::Open { dir, path: path()?, flags: flags(2)?, resolve: None, fd: opened },
        "openat2" => {
            let field = |name: &str| {
                let (_, rest) = args.iter().find_map(|arg| arg.split_once(name))?;
                number(rest.trim_end_matches('}'))
            };
            let resolve = field("resolve=").and_then(|resolve| u64::try_from(resolve).ok());
            let flags = i32::try_from(field("flags=")?).ok()?;
            Call::Open { dir, path: path()?, flags, resolve: Some(resolve.unwrap_or(0)), fd: opened }
        }
        "readlinkat" => Call::ReadLink { dir, path: path()?, found: result >= 0 },
        "read" => Call::Read { fd: fd?, room: last()? },
        "getdents64" => Call::List { fd: fd?, room: last()? },
        "fstat" => Call::Facts { fd: fd? },
        "newfstatat" | "statx" => {
            let at = if name == "statx" { 2 } else { args.len() - 1 };
            Call::FactsAt { dir, path: path()?, flags: flags(at)?, found: result >= 0 }
        }
        "close" => Call::Close { fd: fd? },
        _ => return None,
    })
}

/// `0x4000|0x1000`, `17`, `-100`
fn number(text: &str) -> Option<i64> {
    let one = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        // The kernel's modes are written with a zero in front.
        None if text.len() > 1 && text.starts_with('0') => i64::from_str_radix(text, 8).ok(),
        None => text.parse().ok(),
    };
    text.split('|').try_fold(0, |all, part| Some(all | one(part.trim())?))
}

/// `"\x2f\x70"`
fn path(text: &str) -> Option<CString> {
    let hex = text.strip_prefix('"')?.strip_suffix('"')?;
    let bytes = hex.split("\\x").skip(1).map(|byte| u8::from_str_radix(byte, 16).ok());
    CString::new(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_recorded_lines() {
        let text = concat!(
            "7 openat(-100, \"\\x2f\\x70\", 0x80000) = 9\n",
            "7 clone3({flags=0x3d0f00, exit_signal=0} => {parent_tid=[8]}, 88) = 8\n",
            "7 clone(child_stack=NULL, flags=0x1200000|17, child_tidptr=0x7f) = 9\n",
            "8 read(9,  <unfinished ...>\n",
            "9 close(9) = 0\n",
            "9 openat(-100, \"\\x63\", 0x80000) = 9\n",
            "7 clone(child_stack=NULL, flags=0x1200000|17, child_tidptr=0x7f <unfinished ...>\n",
            "10 readlinkat(9, \"\\x31\", 0x7f6c, 4096) = 1\n",
            "7 <... clone resumed>) = 10\n",
            "8 <... read resumed>\"\\xed\", 4096) = 8\n",
            "8 readlinkat(9, \"\\x33\", 0x7f6c, 4096) = -1 ENOENT (No such file or directory)\n",
            "9 readlinkat(9, \"\\x34\", 0x7f6c, 4096) = 1\n",
            "7 openat2(9, \"\\x61\", {flags=0x280000, resolve=0x18}, 24) = 10\n",
            "7 statx(0xffffff9c, \"\\x61\", 0x4000|0x1000, 0xa, {stx_mask=0x173f, ...}) = 0\n",
            "7 read(77, \"\\xed\", 4096) = 8\n",
            "7 close(9) = 0\n",
        );
        let name = |name: &str| CString::new(name).unwrap();
        let calls = [
            Call::Open { dir: None, path: name("/p"), flags: 0x80000, resolve: None, fd: Some(1) },
            Call::Open { dir: None, path: name("c"), flags: 0x80000, resolve: None, fd: Some(2) },
            Call::ReadLink { dir: Some(1), path: name("1"), found: true },
            Call::Read { fd: 1, room: 4096 },
            Call::ReadLink { dir: Some(1), path: name("3"), found: false },
            Call::ReadLink { dir: Some(2), path: name("4"), found: true },
            Call::Open { dir: Some(1), path: name("a"), flags: 0x280000, resolve: Some(0x18), fd: Some(3) },
            Call::FactsAt { dir: None, path: name("a"), flags: 0x5000, found: true },
            Call::Close { fd: 1 },
        ];
        assert_eq!(recorded(text), calls);
    }
}

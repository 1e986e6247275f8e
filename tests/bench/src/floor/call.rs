//! The calls that `strace` wrote down.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::CString,
};

/// A call that reads something of the node. Descriptors are those of the recorded process; none is the working directory.
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
    /// Copies of the process: their descriptors are others, and they are few.
    copies: BTreeSet<String>,
}

/// `CLONE_THREAD`
const THREAD: i64 = 0x10000;
/// `AT_FDCWD`, which is shown unsigned as well.
const CWD: [i64; 2] = [-100, 0xffff_ff9c];

/// The calls in it, in their order.
pub fn recorded(text: &str) -> Vec<Call> {
    let mut recording = Recording::default();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((pid, call, result)) = recording.whole(line) else { continue };
        if call.starts_with("clone") {
            recording.note(&call, result);
        } else if !recording.copies.contains(pid) {
            calls.extend(read(&call, result));
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

    fn note(&mut self, call: &str, child: i64) {
        let flags = call.split("flags=").nth(1).and_then(|flags| number(flags.split([',', '}']).next()?));
        if child > 0 && flags.is_some_and(|flags| flags & THREAD == 0) {
            self.copies.insert(child.to_string());
        }
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
            "8 <... read resumed>\"\\xed\", 4096) = 8\n",
            "8 readlinkat(9, \"\\x33\", 0x7f6c, 4096) = -1 ENOENT (No such file or directory)\n",
            "7 openat2(9, \"\\x61\", {flags=0x280000, resolve=0x18}, 24) = 10\n",
            "7 statx(0xffffff9c, \"\\x61\", 0x4000|0x1000, 0xa, {stx_mask=0x173f, ...}) = 0\n",
            "7 close(9) = 0\n",
        );
        let name = |name: &str| CString::new(name).unwrap();
        let calls = [
            Call::Open { dir: None, path: name("/p"), flags: 0x80000, resolve: None, fd: Some(9) },
            Call::Read { fd: 9, room: 4096 },
            Call::ReadLink { dir: Some(9), path: name("3"), found: false },
            Call::Open { dir: Some(9), path: name("a"), flags: 0x280000, resolve: Some(0x18), fd: Some(10) },
            Call::FactsAt { dir: None, path: name("a"), flags: 0x5000, found: true },
            Call::Close { fd: 9 },
        ];
        assert_eq!(recorded(text), calls);
    }
}

//! Files that are given up for good, by Landlock where the kernel has it (Linux 5.13).

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};

/// From now on this thread, and those that it starts, only read, and only below `readable`; they signal no process outside,
/// and write nothing. Whether the kernel does all of it, a part or nothing.
pub fn files(readable: &[&Path]) -> anyhow::Result<RulesetStatus> {
    let newest = ABI::V6;
    let rules = path_beneath_rules(readable, AccessFs::from_read(newest) & !AccessFs::Execute);
    let ruleset = Ruleset::default().handle_access(AccessFs::from_all(newest))?.scope(Scope::from_all(newest))?;
    Ok(ruleset.create()?.add_rules(rules)?.restrict_self()?.ruleset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, which ends with what it has given up.
    #[test]
    fn nothing_else_is_read_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let (open, shut) = (dir.path().join("open"), dir.path().join("shut"));
        for folder in [&open, &shut] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("f"), "text").unwrap();
        }
        std::thread::spawn(move || match files(&[&open]).unwrap() {
            RulesetStatus::NotEnforced => eprintln!("not tested here: the kernel has no Landlock"),
            _ => {
                assert_eq!(std::fs::read(open.join("f")).unwrap(), b"text");
                for denied in [
                    std::fs::read(shut.join("f")).map(drop),
                    std::fs::write(open.join("f"), "other"),
                    std::fs::write(open.join("new"), ""),
                    std::fs::read_dir("/proc/1").map(drop),
                ] {
                    assert_eq!(denied.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
                }
            }
        })
        .join()
        .unwrap();
    }
}

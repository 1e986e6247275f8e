//! Commands that reach a path in the kubelet's mount namespace.
//!
//! A path in an agent's report is one of the kubelet's view, and a command is typed in the node's first mount namespace.
//! Where these are two (OpenShift's kubens, a kubelet in a container), `umount PATH` finds no mount there, or only a copy.
//! No entry needs to know: a finding that has a [`Placeholder::MountNamespacePid`](crate::Placeholder) has all commands of
//! its steps like this.

/// How these programs get there. They are the host's own and enter by themselves: `nsenter -m umount` would run the
/// `umount` that stands in the other namespace. It calls no helper (-i), keeps no table (-n), follows no path (-c).
const ENTER: [(&str, &str); 2] =
    [("umount ", "umount -i -n -c -N {mount_namespace_pid} "), ("findmnt ", "findmnt -N {mount_namespace_pid} ")];

/// These reach their path through the process. All but `swapoff` only look; that refuses what is no swap, and if the pid is
/// a tenant's by the time it is typed, a link of that tenant could at worst lead it to another swap of the node.
const LOOK: [&str; 4] = ["find ", "ls ", "lsattr ", "swapoff "];

/// The template of a command as it reaches its path from another mount namespace; none where it is the same.
pub(crate) fn entered(template: &str) -> Option<String> {
    let enters = |(program, instead): &(&str, &str)| Some(format!("{instead}{}", template.strip_prefix(program)?));
    let looks = || LOOK.iter().any(|program| template.starts_with(program)) && template.contains(" {");
    let through_the_process = || template.replace(" {", " /proc/{mount_namespace_pid}/root{");
    ENTER.iter().find_map(enters).or_else(|| looks().then(through_the_process))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::{checks, step};
    use crate::placeholder::holes;
    use crate::{Advice, Placeholder, Shape, Values, cause};

    /// A directory or a file that no mount lies on is the same wherever the command is typed, as far as both have the same
    /// file system there. A command that changes files is not led through another process's root, which a tenant may own by
    /// the time it is typed.
    const PLAIN: [&str; 6] = ["chattr", "rmdir", "mkdir", "mv", "test", "printf"];
    /// `grep` reads mount tables, fusectl is the host's, and the finder gives the path to thaw through a process.
    const NO_PATH_OF_THE_KUBELET: [&str; 3] = ["grep", "mount", "fsfreeze"];
    /// Nothing else in the registry asks for mounts.
    const OF_MOUNTS: [&str; 8] = ["umount", "findmnt", "mountpoint", "fuser", "lsof", "nsenter", "df", "stat"];

    fn advices() -> impl Iterator<Item = (&'static str, &'static Advice, &'static str)> {
        cause::all().flat_map(|cause| cause.safe.iter().filter_map(|advice| Some((cause.id, advice, advice.command?))))
    }

    fn has_path(command: &str) -> bool {
        let shapes = holes(command).filter_map(|(_, name)| Some(Placeholder::named(name?)?.shape()));
        shapes.into_iter().any(|shape| matches!(shape, Shape::Path | Shape::VolData | Shape::PluginDir))
    }

    /// An entry that types a path by another program has to say here how it gets there.
    #[test]
    fn every_path_of_the_registry_is_reached_from_another_namespace() {
        let mut entering = 0;
        for (id, _, command) in advices() {
            if let Some(entered) = entered(command) {
                assert!(entered.contains("{mount_namespace_pid}"), "{id}: {entered}");
                entering += 1;
                continue;
            }
            for part in command.split(['|', ';', '&', '`']).flat_map(|part| part.split("$(")) {
                let program = part.split_whitespace().next().unwrap_or_default();
                let is_known = PLAIN.contains(&program) || NO_PATH_OF_THE_KUBELET.contains(&program);
                assert!(is_known || !has_path(part), "{id}: {command}: how does {program} get to the kubelet's path?");
            }
        }
        assert!(entering > 15, "{entering}");
    }

    /// `sudo umount`, `test -d x && umount x`: only the first word is known.
    #[test]
    fn nothing_else_asks_for_mounts() {
        let of_checks = cause::all().flat_map(|cause| checks(cause).map(|check| (cause.id, check.command)));
        for (id, command) in advices().map(|(id, _, command)| (id, command)).chain(of_checks) {
            // The network alone is entered.
            let command = command.strip_prefix("nsenter -t {pid} -n ").unwrap_or(command);
            let mut words = command.split(|c: char| !c.is_ascii_alphanumeric() && c != '/' && c != '.');
            let rest = words.by_ref().skip(usize::from(entered(command).is_some()));
            assert!(rest.into_iter().all(|word| !OF_MOUNTS.contains(&word)), "{id}: {command}");
        }
    }

    #[test]
    fn every_step_says_where_its_path_is() {
        let all = Placeholder::ALL.iter().fold(Values::new(), |values, placeholder| match placeholder.shape() {
            Shape::Text => values.with(*placeholder, "x"),
            Shape::Process => values.with(*placeholder, "7@7"),
            Shape::EnteredPid => values,
            Shape::Uid => values.with(*placeholder, "96fb425e-919e-44f9-8b42-b1254a602ba1"),
            Shape::VolData => values.with(*placeholder, "/k/vol_data.json"),
            Shape::PluginDir => values.with(*placeholder, "/k/plugins/exam.csi"),
            Shape::Driver => values.with(*placeholder, "exam.csi"),
            _ => values.with(*placeholder, "/k/a b"),
        });
        let inside = all.clone().with(Placeholder::MountNamespacePid, 77);
        for (id, advice, command) in advices().filter(|(_, advice, _)| entered(advice.command.unwrap()).is_some()) {
            let (here, there) = (advice.fill(&all).unwrap(), advice.fill(&inside).unwrap());
            let (here_run, there_run) = (here.command.unwrap(), there.command.unwrap());
            assert!(here_run.split(' ').next() == command.split(' ').next() && !here_run.contains("77"), "{id}");
            assert!(there_run.contains(" -N 77 ") || there_run.contains(" /proc/77/root"), "{id}: {there_run}");
            assert_eq!(there.text, format!("{} (in the mount namespace of pid 77)", here.text), "{id}");
        }
    }

    #[test]
    fn it_is_typed_like_this() {
        let values = Values::new().with(Placeholder::Path, "/k/a b").with(Placeholder::MountNamespacePid, 77);
        let values = values.with(Placeholder::Uid, "96fb425e-919e-44f9-8b42-b1254a602ba1");
        for (template, typed) in [
            ("umount {path}", "umount -i -n -c -N 77 '/k/a b'"),
            ("umount -f {path}", "umount -i -n -c -N 77 -f '/k/a b'"),
            ("findmnt {path}", "findmnt -N 77 '/k/a b'"),
            ("findmnt --list | grep -F {uid}", "findmnt -N 77 --list | grep -F 96fb425e-919e-44f9-8b42-b1254a602ba1"),
            ("swapoff {path}", "swapoff /proc/77/root'/k/a b'"),
            ("ls -la {path}", "ls -la /proc/77/root'/k/a b'"),
            ("ls -la /etc/cni/net.d", "ls -la /etc/cni/net.d"),
            ("rmdir {path}", "rmdir '/k/a b'"),
        ] {
            assert_eq!(step("Do it").run(template).fill(&values).unwrap().command.as_deref(), Some(typed));
        }
    }
}

use std::{os::fd::OwnedFd, time::Instant};

use nix::unistd::write;

use super::*;

const SOON: Duration = Duration::from_secs(5);

/// Hangs until it is killed, with a process that it has started.
fn hang(_: &OwnedFd) -> io::Result<()> {
    let _ = std::process::Command::new("sleep").arg("1000").status();
    Ok(())
}

fn hang_after_a_word(out: &OwnedFd) -> io::Result<()> {
    write(out, b"{\"Looked\":{\"pid\":1}}\n")?;
    hang(out)
}

#[test]
fn reads_a_command_line() {
    let mut sleeper = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let seen = Prober::default().command_line(sleeper.id(), SOON);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!(seen, Seen::Seen(vec!["sleep".to_owned(), "1000".to_owned()]));
}

#[test]
fn a_process_that_is_gone_is_missing() {
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    assert_eq!(Prober::default().command_line(gone.id(), SOON), Seen::Missing);
    assert_eq!(Prober::default().executable(gone.id(), SOON), Seen::Missing);
}

#[test]
fn stat_of_a_local_directory_answers() {
    let dev = Dev { major: 0, minor: 0 };
    assert_eq!(Prober::default().stat(dev, Path::new("/proc"), SOON), Seen::Seen(FuseProbe::Answers));
    assert_eq!(Prober::default().stat(dev, Path::new("/nothing-here"), SOON), Seen::Missing);
}

#[test]
fn finds_its_own_mappings() {
    let me = std::process::id();
    let dev = nix::sys::stat::stat("/proc/self/exe").unwrap().st_dev;
    let number = |number: u64| u32::try_from(number).unwrap();
    let dev = Dev { major: number(nix::sys::stat::major(dev)), minor: number(nix::sys::stat::minor(dev)) };
    let mappings = Prober::default().mappings(dev, &[me], SOON);
    assert_eq!((mappings.looked_at, mappings.fault), (vec![me], None));
    let exe = HostPath::from(std::env::current_exe().unwrap());
    assert!(
        mappings.found.iter().any(|file| (file.pid, file.dev, &file.path) == (me, dev, &exe)),
        "{:?}",
        mappings.found
    );
}

#[test]
fn tells_where_a_link_leads() {
    let me = std::process::id();
    let places = Prober::default().places(&[(me, "root".to_owned()), (me, "fd/99999".to_owned())], SOON);
    assert_eq!(places.len(), 1);
    assert!(places[0].mount_id.is_some());
}

#[test]
fn follows_the_links_of_a_directory_and_not_those_of_processes() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/run", dir.path().join("link")).unwrap();
    let paths = ["link/s", "gone/s"].map(|path| dir.path().join(path).display().to_string());
    let asked: Vec<(u32, &str)> =
        ["/proc/self/cwd/s", &paths[0], &paths[1]].map(|path| (std::process::id(), path)).into();
    let real: Vec<Option<HostPath>> =
        Prober::default().real_paths(&asked, SOON).into_iter().map(|one| one.real).collect();
    assert_eq!(real, [None, Some(HostPath::from("/run/s")), None]);
}

#[test]
fn a_child_that_hangs_is_killed_with_what_it_started_and_what_it_said_counts() {
    let began = Instant::now();
    let prober = Prober::default();
    let mappings = mappings(prober.ask("mappings", Duration::from_millis(300), hang_after_a_word));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(mappings.looked_at, [1]);
    assert!(mappings.fault.is_some_and(|fault| fault.says.contains("no answer within 300ms")));
    assert_eq!(prober.abandoned(), 0);
}

/// As beside a FUSE server that answers each of its calls just soon enough to look alive.
#[test]
fn a_child_that_goes_on_slowly_has_no_longer_than_one_that_is_silent() {
    let began = Instant::now();
    let prober = Prober::default();
    let goes_on = |out: &OwnedFd| {
        for pid in 0.. {
            write(out, format!("{{\"Looked\":{{\"pid\":{pid}}}}}\n").as_bytes())?;
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    };
    let mappings = mappings(prober.ask("mappings", Duration::from_millis(300), goes_on));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert!(mappings.looked_at.len() > 1 && mappings.fault.is_some(), "{mappings:?}");
    assert_eq!(prober.abandoned(), 0);
}

#[test]
fn silence_of_a_file_system_is_an_answer() {
    let silent = Prober::default().ask("stat 0:1", Duration::from_millis(100), hang);
    let seen = of_file_system("stat /x".to_owned(), silent);
    assert_eq!(seen, Seen::Seen(FuseProbe::Silent));
}

#[test]
fn never_more_than_the_bound_and_never_two_of_a_kind() {
    let mut children = Children::default();
    for key in ["a", "b", "c", "d"] {
        children.begin(key).unwrap();
    }
    assert!(matches!(children.begin("a"), Err(ChildError::StillHangs)));
    assert!(matches!(children.begin("e"), Err(ChildError::TooMany)));
}

use super::*;
use proptest::prelude::*;

/// Recorded on a node with two CSI volumes.
const RECORDED: &[u8] =
    b"43 27 254:0 /var/lib/kubelet /var/lib/kubelet rw,relatime shared:1 - ext4 /dev/vda rw,discard,resv_strict\n\
45 43 0:41 / /var/lib/kubelet/plugins/kubernetes.io/csi/exam.csi.example.com/d2e8/globalmount rw,relatime shared:2 - tmpfs exam-vol-1 rw\n\
46 43 0:41 / /var/lib/kubelet/pods/96fb425e-919e-44f9-8b42-b1254a602ba1/volumes/kubernetes.io~csi/pv-csi-1/mount rw,relatime shared:2 - tmpfs exam-vol-1 rw\n";

fn parse_table(bytes: &[u8]) -> Parsed {
    mounts(bytes, |_| true)
}

fn parse_mount(line: &[u8]) -> Mount {
    let mut parsed = parse_table(line);
    assert_eq!((parsed.total, parsed.odd), (1, 0));
    parsed.mounts.remove(0)
}

#[test]
fn reads_a_recorded_table() {
    let parsed = parse_table(RECORDED);
    assert_eq!((parsed.total, parsed.odd, parsed.mounts.len()), (3, 0, 3));
    let mount = &parsed.mounts[2];
    assert_eq!((mount.id, mount.parent, mount.shared, mount.master), (46, 43, Some(2), None));
    assert_eq!(mount.dev.to_string(), "0:41");
    assert_eq!(mount.root, "/".into());
    assert_eq!(mount.source, "exam-vol-1".into());
    assert_eq!(parsed.mounts[0].fs_type, "ext4");
    assert!(!mount.read_only && !mount.super_read_only);
}

#[test]
fn keeps_only_what_is_wanted() {
    let parsed = mounts(RECORDED, |mount| mount.dev.minor == 41);
    assert_eq!((parsed.total, parsed.mounts.len()), (3, 2));
}

/// Since Linux 6.12 ext4 keeps `rw` when an error has made it read-only.
#[test]
fn knows_a_file_system_that_takes_no_writes() {
    let options_of = |options: &str| {
        let mount = parse_mount(format!("1 0 8:1 / /x rw - ext4 /dev/sda {options}").as_bytes());
        assert_eq!(mount.super_read_only, !mount.read_only_options.is_empty());
        mount.read_only_options
    };
    assert_eq!(options_of("ro"), ["ro"]);
    assert_eq!(options_of("rw,emergency_ro,errors=remount-ro"), ["emergency_ro"]);
    assert_eq!(options_of("ro,emergency_ro,shutdown"), ["ro", "emergency_ro", "shutdown"]);
    assert!(options_of("rw,errors=remount-ro,prefix=shutdown").is_empty());
}

#[test]
fn undoes_the_escapes() {
    let mount = parse_mount(br"1 0 0:5 /a\040b /x\011y\012z\134w\043v\ ro,nosuid - fuse.s3\043fs my\040src rw,ro");
    assert_eq!(mount.mount_point.as_bytes(), b"/x\ty\nz\\w#v\\");
    assert_eq!(mount.root, "/a b".into());
    assert_eq!(mount.source, "my src".into());
    assert_eq!(mount.fs_type, "fuse.s3#fs");
    assert!(mount.read_only && mount.super_read_only);
    assert_eq!(mount.fuse_connection(), Some(5));
}

#[test]
fn a_backslash_before_anything_else_stays() {
    for field in [r"\9", r"\400", r"\04", r"\", r"\\", r"\08 "] {
        assert_eq!(unescape(field.as_bytes()).as_ref(), field.as_bytes(), "{field}");
    }
}

#[test]
fn reads_all_optional_fields() {
    let mount = parse_mount(b"9 8 0:5 / /m rw shared:7 master:3 propagate_from:2 unbindable - ext4 /dev/x rw");
    assert_eq!((mount.shared, mount.master), (Some(7), Some(3)));
}

#[test]
fn keeps_what_the_kernel_adds_to_a_deleted_root_or_mount_point() {
    let mount = parse_mount(b"9 8 0:5 /gone//deleted /m//deleted rw - tmpfs t rw");
    assert_eq!(mount.root, "/gone//deleted".into());
    assert_eq!(mount.mount_point, "/m//deleted".into());
}

#[test]
fn takes_bytes_that_are_no_text_and_long_paths() {
    let mut line = b"9 8 0:5 / /\xff\xfe".to_vec();
    line.extend(std::iter::repeat_n(b'a', 4093));
    line.extend(b" rw - tmpfs \xff rw\n");
    let mount = parse_mount(&line);
    assert_eq!(mount.mount_point.as_bytes().len(), 4096);
    assert_eq!(mount.mount_point.as_str(), None);
}

#[test]
fn an_empty_source_is_no_odd_line() {
    assert_eq!(parse_mount(b"9 8 0:5 / /m rw - tmpfs  rw").source, "".into());
}

#[test]
fn an_odd_line_is_counted_and_costs_only_itself() {
    let parsed = parse_table(b"nonsense\n9 8 0:5 / /m rw - tmpfs t rw\n9 8 0:5 / /m rw shared:1\n\n");
    assert_eq!((parsed.total, parsed.odd, parsed.mounts.len()), (1, 2, 1));
    assert_eq!(parse_table(b""), Parsed::default());
}

fn escape(bytes: &[u8]) -> Vec<u8> {
    let special = |b: &u8| b" \t\n\\#".contains(b);
    bytes.iter().flat_map(|b| if special(b) { format!("\\{b:03o}").into_bytes() } else { vec![*b] }).collect()
}

proptest! {
    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let parsed = parse_table(&bytes);
        prop_assert!(parsed.total + parsed.odd <= bytes.len());
    }

    #[test]
    fn lines_that_are_nearly_right_never_panic(line in r"[0-9]{0,3} [0-9]{0,3} [0-9:]{0,4} [/\\0-9]{0,8} [/\\0-9]{0,8} rw( shared:[0-9]{0,12})?( -)? [a-z ]{0,9}") {
        let _ = parse_table(line.as_bytes());
    }

    #[test]
    fn any_path_survives(path in proptest::collection::vec(1_u8.., 1..200)) {
        let mut line = b"9 8 0:5 / /".to_vec();
        line.extend(escape(&path));
        line.extend(b" rw - tmpfs t rw\n");
        let mount = parse_mount(&line);
        prop_assert_eq!(&mount.mount_point.as_bytes()[1..], path.as_slice());
    }
}

#[test]
fn a_mark_picks_its_lines() {
    let table = b"1 0 8:1 / / rw shared:1 - ext4 /dev/a rw\n\
        2 1 8:2 / /b rw master:1 - ext4 /dev/b rw\n\
        3 1 8:3 / /c rw master:2 - ext4 /dev/c rw";
    let ids = |mark: &[u8]| mounts_with(table, mark, |_| true).iter().map(|mount| mount.id).collect::<Vec<_>>();
    assert_eq!(ids(b"master:"), [2, 3]);
    assert_eq!(ids(b" 8:1 "), [1]);
    assert!(ids(b"nothing").is_empty());
}

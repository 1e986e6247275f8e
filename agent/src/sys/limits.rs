//! How much of the kernel's small files is read at most. More than that is an error, so that each stands well above
//! what the kernel writes.

/// Files of one line, `/proc/<pid>/stat` and most of sysfs among them; a path in one may be a page long.
pub const MAX_LINE_BYTES: usize = 8 << 10;
/// `/proc/<pid>/status`, `cgroup`, `stack`, `children`: a few lines, more where hierarchies or children are many.
pub const MAX_LINES_BYTES: usize = 64 << 10;
/// `/proc/<pid>/fdinfo/<fd>`: a file that is locked has a line for each lock.
pub const MAX_FDINFO_BYTES: usize = 1 << 20;
/// `cgroup.procs`: a line for each process.
pub const MAX_CGROUP_PROCS_BYTES: usize = 1 << 20;

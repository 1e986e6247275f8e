//! The only place that opens files: capped reads, listings and links that cannot hang as long as
//! the caller stays off file systems that need a server.

mod beneath;
mod clock;
mod copy;
mod descriptors;
mod dir;
mod heap;
mod kernel_log;
pub mod limits;
pub mod linux;
mod listmount;
mod numbered_links;
mod proc_dir;
mod proc_list;
mod proc_worker;
mod read;
pub mod sandbox;
mod statx;
mod unix_socket;

pub use beneath::{Beneath, Refused, Socket, refusal};
pub use clock::{now_ms, page_size, thread_cpu_ms, ticks_per_second, uptime_ms};
pub use copy::{Running, copy};
pub use descriptors::close_range;
pub use dir::{Entry, EntryKind, list, list_capped};
pub use heap::share_one_heap;
pub use kernel_log::{SYSLOG_READ_ALL, kernel_log};
pub use linux::IO_URING;
pub use proc_dir::{ProcDir, comm_of, is_untold, namespace_of, namespaces_of, pids};
pub use proc_list::ProcList;
pub use proc_worker::{FILE_TIMEOUT, Visit, pids_where, stop_proc_worker};
pub use read::{is_gone, place, read_capped, read_lines_of, read_link, read_text, read_text_of_root};
pub use statx::{FileFacts, file_facts, is_mount_root, may_have_subdirectories};
pub use unix_socket::{SocketPath, bind, listener};

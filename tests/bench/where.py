#!/usr/bin/env python3
"""Where the CPU time of a command goes, by kind of work: reads what `perf script -F comm,tid,ip,sym,dso` prints.

where.py PROGRAM, with the samples on standard input; PROGRAM is the file that was measured.
"""
import collections
import re
import sys

KINDS = [
    ("the kernel: page faults", {"exc_page_fault", "asm_exc_page_fault"}),
    ("the kernel: starting and ending the program", {"__x64_sys_execve", "do_exit"}),
    ("the kernel: threads and copies of the process", {"kernel_clone", "ret_from_fork"}),
    ("the kernel: mount tables", {"show_mountinfo", "m_show", "m_start", "m_next"}),
]
CALLS = {
    "the kernel: conversations": "socket socketpair connect sendto sendmsg recvfrom recvmsg writev readv shutdown poll "
    "getsockopt setsockopt getsockname getpeername epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2",
    "the kernel: reading files, /proc, cgroups": "open openat openat2 read pread64 readlink readlinkat getdents64 statx "
    "newfstat newfstatat fstat fstatfs close lseek",
    "the kernel: memory": "mmap munmap brk mprotect madvise mremap",
}
BY_CALL = {call: kind for kind, calls in CALLS.items() for call in calls.split()}


def kind(chain, program):
    """The kind of one sample; the chain begins where the processor was."""
    if not chain:
        return "unknown"
    offset, symbol, is_kernel = chain[0]
    if not is_kernel:
        # A hypervisor answers the instruction; what is sampled is the next one.
        return "cpuid" if program[max(offset - 2, 0) : offset] == b"\x0f\xa2" else "own code"
    names = {name for _, name, in_kernel in chain if in_kernel}
    for what, marks in KINDS:
        if names & marks:
            return what
    calls = [name.removeprefix("__x64_sys_") for name in names if name.startswith("__x64_sys_")]
    if calls:
        return BY_CALL.get(calls[0], "the kernel: other calls")
    return "the kernel: interrupts, switching between tasks"


def main():
    with open(sys.argv[1], "rb") as file:
        program = file.read()
    name = sys.argv[1].rsplit("/", 1)[-1][:15]
    kinds, threads = collections.Counter(), collections.Counter()
    for sample in sys.stdin.read().split("\n\n"):
        lines = sample.strip("\n").split("\n")
        head = re.match(r"\s*(.+?)\s+\d+\s*$", lines[0])
        # The shell that starts it is not meant.
        if not head or head[1] in ("sh", "seq", "setarch", "perf", "perf-exec"):
            continue
        frames = [re.match(r"\s+([0-9a-f]+)\s+(.*?)(?:\+0x[0-9a-f]+)?\s+\((.*)\)$", line) for line in lines[1:]]
        chain = [(int(frame[1], 16), frame[2], "kernel" in frame[3]) for frame in frames if frame]
        kinds[kind(chain, program)] += 1
        threads["the first thread" if head[1] == name else head[1]] += 1
    total = sum(kinds.values())
    for title, counted in (("where", kinds), ("thread", threads)):
        print(f"\n| {title} | share |\n|---|---|")
        for what, count in counted.most_common():
            print(f"| {what} | {100 * count / total:.1f} % |")
    print(f"\n{total} samples")


if __name__ == "__main__":
    main()

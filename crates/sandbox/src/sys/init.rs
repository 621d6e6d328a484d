//! The first process of a sandbox's pid namespace: a program of a few instructions.
//!
//! Process 1 of a namespace ignores signals it has no handler for, and inherits every orphan. A command started as
//! process 1 would therefore survive its own `abort`, and a shell would collect zombies. So process 1 is this program:
//! it waits for children, and when process 2 (the command) ends it writes the wait status and the resources used to
//! descriptor 3 and exits, at which the kernel kills everything that is left.
//!
//! It is written as instructions, not as Rust, because it must be a program of its own (it may not share memory with
//! the parent) and small (one page): the parent copies it out of its own text into a sealed memory file, behind an
//! ELF header made here.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{Errno, write};

unsafe extern "C" {
    static ringfence_init_start: u8;
    static ringfence_init_end: u8;
}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .rodata",
    ".balign 16",
    ".globl ringfence_init_start",
    ".globl ringfence_init_end",
    "ringfence_init_start:",
    // prctl(PR_SET_DUMPABLE, 0): nobody inside may look into this process.
    "mov eax, 157",
    "mov edi, 4",
    "xor esi, esi",
    "syscall",
    // Room for: status (8 bytes, the upper four zero), then struct rusage (144 bytes).
    "sub rsp, 256",
    "2:",
    "mov qword ptr [rsp], 0",
    // wait4(-1, &status, 0, &rusage)
    "mov eax, 61",
    "mov rdi, -1",
    "mov rsi, rsp",
    "xor edx, edx",
    "lea r10, [rsp + 8]",
    "syscall",
    "cmp eax, 2",
    "je 3f",
    // Interrupted: wait again. Somebody else's orphan: wait again. No child at all: nothing to wait for.
    "cmp eax, -10",
    "jne 2b",
    "mov edi, 70",
    "jmp 4f",
    "3:",
    // write(3, buffer, 152)
    "mov eax, 1",
    "mov edi, 3",
    "mov rsi, rsp",
    "mov edx, 152",
    "syscall",
    "xor edi, edi",
    "4:",
    // exit_group
    "mov eax, 231",
    "syscall",
    "ringfence_init_end:",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .rodata",
    ".balign 16",
    ".globl ringfence_init_start",
    ".globl ringfence_init_end",
    "ringfence_init_start:",
    "mov x8, 167",
    "mov x0, 4",
    "mov x1, 0",
    "svc 0",
    "sub sp, sp, 256",
    "2:",
    "str xzr, [sp]",
    "mov x8, 260",
    "mov x0, -1",
    "mov x1, sp",
    "mov x2, 0",
    "add x3, sp, 8",
    "svc 0",
    "cmp w0, 2",
    "b.eq 3f",
    "cmn w0, 10",
    "b.ne 2b",
    "mov x0, 70",
    "b 4f",
    "3:",
    "mov x8, 64",
    "mov x0, 3",
    "mov x1, sp",
    "mov x2, 152",
    "svc 0",
    "mov x0, 0",
    "4:",
    "mov x8, 94",
    "svc 0",
    "ringfence_init_end:",
    ".popsection",
);

const HEADERS: usize = 64 + 56 + 56;
const BASE: u64 = 0x40_0000;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// Returns the program as an executable memory file, made once per process.
///
/// # Errors
///
/// The machine makes no executable memory files (`vm.memfd_noexec`).
pub(crate) fn init_program() -> Result<&'static OwnedFd, Errno> {
    static PROGRAM: OnceLock<Result<OwnedFd, Errno>> = OnceLock::new();
    PROGRAM.get_or_init(|| memory_file(&elf(code()))).as_ref().map_err(|errno| *errno)
}

fn code() -> &'static [u8] {
    let start = &raw const ringfence_init_start;
    let end = &raw const ringfence_init_end;
    // SAFETY: both symbols are defined above, in this order and in one section, so that what lies between them is
    // initialised, readable, never written and alive as long as the program.
    unsafe { core::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

/// Puts the smallest ELF header in front of the code: one segment to read and execute, and a stack that is not executable.
fn elf(code: &[u8]) -> Vec<u8> {
    let size = (HEADERS + code.len()) as u64;
    let mut file = Vec::with_capacity(HEADERS + code.len());
    file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_le_bytes());
    let long = |file: &mut Vec<u8>, value: u64| file.extend(value.to_le_bytes());
    half(&mut file, 2); // executable
    half(&mut file, MACHINE);
    word(&mut file, 1);
    long(&mut file, BASE + HEADERS as u64); // entry
    long(&mut file, 64); // program headers
    long(&mut file, 0); // no sections
    word(&mut file, 0);
    for value in [64, 56, 2, 0, 0, 0] {
        half(&mut file, value);
    }
    // Type, flags, offset, virtual and physical address, size in file and memory, alignment.
    let segment = |file: &mut Vec<u8>, kind: u32, flags: u32, address: u64, size: u64| {
        word(file, kind);
        word(file, flags);
        for value in [0, address, address, size, size, 0x1000] {
            long(file, value);
        }
    };
    segment(&mut file, 1, 5, BASE, size);
    segment(&mut file, 0x6474_e551, 6, 0, 0);
    file.extend(code);
    file
}

fn memory_file(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    /// `MFD_EXEC`, which kernels before 6.3 do not know.
    const EXECUTABLE: u32 = 0x10;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = memfd_create("ringfence-init", flags | MemfdFlags::from_bits_retain(EXECUTABLE))
        .or_else(|_| memfd_create("ringfence-init", flags))?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = write(file.as_fd(), rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}

//! Other languages, and none.

unsafe extern "C" {
    fn open(path: *const u8, flags: i32, ...) -> i32;
    fn getenv(name: *const u8) -> *const u8;
    fn connect(socket: i32, address: *const u8, length: u32) -> i32;
    fn system(command: *const u8) -> i32;
    fn strlen(text: *const u8) -> usize;
    fn somebody_elses(number: i32) -> i32;
    #[link_name = "unlink"] fn harmless(path: *const u8) -> i32;
    fn syscall(number: i64, ...) -> i64;
    fn dlopen(path: *const u8, flags: i32) -> *mut u8;
    fn getrandom(buffer: *mut u8, length: usize, flags: u32) -> isize;
}
mod system { unsafe extern "C" { pub fn fork() -> i32; } }

pub fn env_read__getenv() -> bool { unsafe { !getenv(c"A".as_ptr().cast()).is_null() } }
pub fn exec__system() -> i32 { unsafe { system(c"a".as_ptr().cast()) } }
pub fn exec__fork() -> i32 { unsafe { self::system::fork() } }
pub fn net_connect__connect() -> i32 { unsafe { connect(3, std::ptr::null(), 0) } }
pub fn fs_write__renamed_for_the_linker() -> i32 { unsafe { harmless(c"a".as_ptr().cast()) } }
pub fn ffi__unknown() -> i32 { unsafe { somebody_elses(1) } }
pub fn ffi__unknown_by_pointer() -> i32 { let act: unsafe extern "C" fn(i32) -> i32 = somebody_elses; unsafe { act(1) } }
pub fn syscall__by_number() -> i64 { unsafe { syscall(39) } }
pub fn dlopen__library() -> bool { unsafe { !dlopen(c"a".as_ptr().cast(), 1).is_null() } }
pub fn asm__inline() -> u64 { let number: u64; unsafe { std::arch::asm!("mov {}, 1", out(reg) number) }; number }
pub fn random__getrandom() -> isize { let mut byte = 0; unsafe { getrandom(&mut byte, 1, 0) } }
pub fn clean__strlen() -> usize { unsafe { strlen(c"a".as_ptr().cast()) } }

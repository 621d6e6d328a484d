//! The functions of C that are known by name.
//!
//! Binding a socket alone is nothing, since every client may do it: waiting on it is the effect.
//!
//! INVARIANT: nothing is harmless by default: a name that is in no list is `None`.

use super::set;
use crate::Effect::{
    self, Clock, Dlopen, EnvRead, EnvWrite, Exec, FsRead, FsWrite, NetConnect, NetDns, NetListen, Random,
    Syscall,
};
use crate::EffectSet;

/// Returns what a function or a variable of the C library does, and `None` for a name that is not known.
pub fn of_foreign(name: &str) -> Option<EffectSet> {
    TABLE
        .iter()
        .find(|(names, _)| names.split_whitespace().any(|known| known == name))
        .map(|(_, effects)| set(effects))
}

#[rustfmt::skip]
const TABLE: &[(&str, &[Effect])] = &[
    // What opens by flags may do either; what opens for one purpose does that.
    ("open open64 openat openat64 openat2 fopen fopen64 freopen freopen64 shm_open open_by_handle_at", &[FsRead, FsWrite]),
    ("opendir fdopendir scandir scandir64 nftw nftw64 ftw glob glob64 readlink readlinkat stat stat64 lstat lstat64 fstatat fstatat64 statx access faccessat euidaccess eaccess \
      realpath canonicalize_file_name statfs statfs64 statvfs statvfs64 pathconf getxattr lgetxattr listxattr llistxattr inotify_add_watch fanotify_mark name_to_handle_at \
      getmntent setmntent getpwnam getpwnam_r getpwuid getpwuid_r getgrnam getgrnam_r getgrgid getgrgid_r getgrouplist getpwent setpwent", &[FsRead]),
    ("creat creat64 unlink unlinkat remove rename renameat renameat2 mkdir mkdirat rmdir mknod mknodat mkfifo mkfifoat chmod fchmodat lchmod chown lchown fchownat truncate truncate64 \
      link linkat symlink symlinkat utime utimes utimensat futimesat lutimes setxattr lsetxattr removexattr lremovexattr mkstemp mkstemp64 mkostemp mkostemp64 mkstemps mkdtemp tmpfile \
      tmpnam mount umount umount2 chroot pivot_root shm_unlink swapon swapoff quotactl", &[FsWrite]),
    ("syslog vsyslog openlog connect sendto sendmsg sendmmsg", &[NetConnect]),
    ("listen accept accept4 recvfrom recvmsg recvmmsg", &[NetListen]),
    ("getaddrinfo gethostbyname gethostbyname2 gethostbyaddr gethostbyname_r getnameinfo getaddrinfo_a res_query res_search res_init res_ninit res_nquery res_nsearch", &[NetDns]),
    ("execl execlp execle execv execve execvp execvpe execveat fexecve fork vfork clone clone3 posix_spawn posix_spawnp system popen daemon forkpty", &[Exec]),
    ("getenv secure_getenv environ getcwd getwd get_current_dir_name gethostname uname getlogin getlogin_r getdomainname _NSGetEnviron", &[EnvRead]),
    ("setenv unsetenv putenv clearenv chdir fchdir sethostname", &[EnvWrite]),
    ("getrandom getentropy arc4random arc4random_buf arc4random_uniform SecRandomCopyBytes CCRandomGenerateBytes", &[Random]),
    ("time gettimeofday clock_gettime clock_getres clock times ftime timespec_get mach_absolute_time clock_gettime_nsec_np localtime localtime_r mktime tzset", &[Clock]),
    ("clock_settime settimeofday adjtimex", &[Clock, EnvWrite]),
    ("dlopen dlmopen dlsym dlvsym", &[Dlopen]),
    ("syscall io_uring_setup io_uring_enter io_uring_register", &[Syscall]),

    // What works on memory, on what is already open, on this process or thread alone.
    ("memcpy memmove memset memcmp memchr memrchr memmem bcmp bcopy bzero explicit_bzero strlen strnlen strcmp strncmp strcasecmp strncasecmp strcpy strncpy strcat strncat strchr strrchr strstr \
      strdup strndup strtol strtoul strtoll strtoull strtod strtof atoi atol atof strerror strerror_r __xpg_strerror_r strsignal toupper tolower isalpha isdigit isspace isalnum \
      snprintf sprintf vsnprintf printf fprintf puts putchar fputs fputc sscanf qsort bsearch abs labs div rand rand_r srand random srandom drand48", &[]),
    ("malloc calloc realloc free posix_memalign aligned_alloc memalign valloc malloc_usable_size malloc_trim mallopt reallocarray", &[]),
    ("mmap mmap64 munmap mremap madvise posix_madvise msync mlock munlock mlockall munlockall mincore brk sbrk memfd_create", &[]),
    ("read write readv writev pread pread64 pwrite pwrite64 preadv pwritev preadv64 pwritev64 lseek lseek64 close close_range closefrom dup dup2 dup3 pipe pipe2 fsync fdatasync sync_file_range \
      fcntl flock lockf fstat fstat64 fstatfs fstatfs64 fstatvfs fstatvfs64 fgetxattr flistxattr readdir readdir64 readdir_r readdir64_r closedir dirfd rewinddir seekdir telldir fread fwrite fclose fflush \
      fgets fgetc getc ungetc fseek fseeko fseeko64 ftell ftello ftello64 rewind feof ferror fileno fdopen setvbuf setbuf getline getdelim getdents getdents64 copy_file_range sendfile sendfile64 splice tee \
      vmsplice posix_fadvise posix_fadvise64 readahead ioctl isatty ttyname ttyname_r tcgetattr tcsetattr tcflush tcdrain tcsendbreak tcflow tcgetpgrp tcsetpgrp tcgetsid cfmakeraw cfgetispeed cfgetospeed \
      cfsetispeed cfsetospeed cfsetspeed umask inotify_rm_watch inotify_init inotify_init1 fanotify_init fchmod fchown ftruncate ftruncate64 futimens fallocate posix_fallocate posix_fallocate64 fsetxattr fremovexattr ptsname ptsname_r grantpt unlockpt posix_openpt openpty", &[]),
    ("socket socketpair shutdown setsockopt getsockopt getsockname getpeername bind recv send htons htonl ntohs ntohl inet_pton inet_ntop inet_addr inet_aton inet_ntoa \
      freeaddrinfo gai_strerror if_nametoindex if_indextoname if_nameindex if_freenameindex getifaddrs freeifaddrs getservbyname getservbyport getprotobyname sockatmark", &[]),
    ("poll ppoll select pselect epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd_read eventfd_write timerfd_create timerfd_settime timerfd_gettime signalfd kqueue \
      kevent", &[]),
    ("getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgid getpgrp getsid setsid setpgid setpgrp getpriority getrlimit getrlimit64 getrusage sysconf confstr \
      getpagesize get_nprocs get_nprocs_conf sched_yield sched_getaffinity sched_setaffinity sched_getcpu sched_getscheduler sched_getparam sched_get_priority_max sched_get_priority_min getauxval \
      sysinfo getloadavg personality nice setpriority setrlimit setrlimit64 prlimit prlimit64 prctl getcpu membarrier getdtablesize issetugid", &[]),
    ("exit _exit _Exit quick_exit abort atexit at_quick_exit on_exit __cxa_atexit __cxa_thread_atexit_impl wait waitpid waitid wait3 wait4 raise pause alarm ualarm setitimer getitimer \
      timer_create timer_settime timer_gettime timer_delete signal sigaction sigprocmask sigemptyset sigfillset sigaddset sigdelset sigismember sigpending sigsuspend sigaltstack sigwait sigwaitinfo sigtimedwait \
      sleep usleep nanosleep clock_nanosleep pidfd_open", &[]),
    ("pthread_create pthread_join pthread_detach pthread_self pthread_equal pthread_exit pthread_cancel pthread_kill pthread_sigmask pthread_atfork pthread_once pthread_key_create pthread_key_delete \
      pthread_getspecific pthread_setspecific pthread_mutex_init pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_mutex_destroy pthread_mutexattr_init pthread_mutexattr_settype \
      pthread_mutexattr_destroy pthread_cond_init pthread_cond_wait pthread_cond_timedwait pthread_cond_signal pthread_cond_broadcast pthread_cond_destroy pthread_condattr_init pthread_condattr_setclock \
      pthread_condattr_destroy pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock pthread_rwlock_destroy pthread_attr_init pthread_attr_destroy pthread_attr_setstacksize \
      pthread_attr_getstack pthread_attr_setdetachstate pthread_getattr_np pthread_setname_np pthread_getname_np pthread_setaffinity_np pthread_getaffinity_np pthread_threadid_np \
      sem_init sem_destroy sem_wait sem_trywait sem_timedwait sem_post", &[]),
    ("__errno_location __error errno dlclose dlerror dladdr dl_iterate_phdr setlocale localeconv nl_langinfo newlocale uselocale freelocale gmtime gmtime_r timegm difftime asctime ctime_r strftime strptime \
      optarg optind opterr stdin stdout stderr program_invocation_name __libc_current_sigrtmin __libc_current_sigrtmax backtrace backtrace_symbols closelog setlogmask \
      WIFEXITED WEXITSTATUS WIFSIGNALED WTERMSIG WIFSTOPPED WSTOPSIG WCOREDUMP WIFCONTINUED FD_SET FD_CLR FD_ISSET FD_ZERO CMSG_FIRSTHDR CMSG_NXTHDR CMSG_DATA CMSG_SPACE CMSG_LEN CMSG_ALIGN \
      CPU_SET CPU_CLR CPU_ISSET CPU_ZERO CPU_COUNT CPU_EQUAL CPU_ALLOC_SIZE major minor makedev", &[]),
    ("sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p pow sqrt cbrt hypot fabs fmod fmin fmax floor ceil round trunc rint nearbyint ldexp frexp modf \
      fma tgamma lgamma lgamma_r erf erfc sinf cosf tanf expf logf powf sqrtf fmaf floorf ceilf roundf truncf fmodf cbrtf hypotf sincos", &[]),
    ("_Unwind_Backtrace _Unwind_GetIP _Unwind_GetIPInfo _Unwind_GetCFA _Unwind_FindEnclosingFunction _Unwind_Resume __rust_alloc __rust_dealloc __rust_realloc __rust_alloc_zeroed __rust_no_alloc_shim_is_unstable", &[]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_is_known_once_and_an_unknown_one_is_not_harmless() {
        #[rustfmt::skip]
        let cases: &[(&str, Option<EffectSet>)] = &[
            ("open",        Some(set(&[FsRead, FsWrite]))),
            ("connect",     Some(set(&[NetConnect]))),
            ("getenv",      Some(set(&[EnvRead]))),
            ("syscall",     Some(set(&[Syscall]))),
            ("memcpy",      Some(EffectSet::NONE)),
            ("sqlite3_open", None),
            ("",            None),
        ];
        for (name, expected) in cases {
            assert_eq!(of_foreign(name), *expected, "{name}");
        }
        let mut seen = BTreeSet::new();
        for name in TABLE.iter().flat_map(|(names, _)| names.split_whitespace()) {
            assert!(seen.insert(name), "`{name}` is in two lists");
        }
    }
}

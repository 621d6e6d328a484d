//! Programs whose purpose is to start another one.

use std::fs;

use crate::probe::{Needs, Probe, setup};

pub(crate) const PROBES: &[Probe] = &[
    Probe::command("inject::env", "env", &["{touch}", "{mark}"]),
    Probe::command("inject::env_split", "env", &["-S", "{touch} {mark}"]),
    Probe::command("inject::xargs", "xargs", &["{touch}"]).input("{mark}"),
    Probe::command("inject::timeout", "timeout", &["5", "{touch}", "{mark}"]),
    Probe::command("inject::nice", "nice", &["{touch}", "{mark}"]),
    Probe::command("inject::nohup", "nohup", &["{touch}", "{mark}"]),
    Probe::command("inject::setsid", "setsid", &["-w", "{touch}", "{mark}"]),
    Probe::command("inject::stdbuf", "stdbuf", &["-o0", "{touch}", "{mark}"])
        .flags(&["--read", "/usr/libexec/coreutils"]),
    Probe::command("inject::flock", "flock", &["{work}", "{touch}", "{mark}"]),
    Probe::command("inject::taskset", "taskset", &["ff", "{touch}", "{mark}"]),
    Probe::command("inject::strace", "strace", &["-o", "/dev/null", "{touch}", "{mark}"]),
    Probe::command("inject::unshare", "unshare", &["-U", "{touch}", "{mark}"]),
    Probe::command("inject::chroot", "chroot", &["/", "{touch}", "{mark}"]).needs(Needs::Root),
    Probe::command("inject::make_recipe", "make", &["-f", "-", "x"]).input("x:\n\t{touch} {mark}\n"),
    Probe::command("inject::make_function", "make", &["-f", "-"]).input("a := $(shell {touch} {mark})\nx:\n"),
    Probe::command("inject::cc_wrapper", "gcc", &["-wrapper", "{touch},--,{mark}", "-c", "a.c"])
        .flags(&["--read", "/usr/lib/gcc"])
        .prepare(|scene| setup(fs::write(scene.work("a.c")?, "int a;\n"))),
    Probe::command("inject::run_parts", "run-parts", &["{work}/parts"])
        .prepare(|scene| super::script(scene, "parts/part")),
    Probe::command("inject::loader", "ld.so", &["{touch}", "{mark}"]),
];

//! Interpreters: they may run any code, but start nothing else.

use crate::probe::{Probe, Proof};

const PYTHON: &[&str] = &["--read", "{python-library}"];

pub(crate) const PROBES: &[Probe] = &[
    Probe::command("inject::perl_system", "perl", &["-e", "system('{touch}', '{mark}')"]),
    Probe::command("inject::perl_exec", "perl", &["-e", "exec('{touch}', '{mark}')"]),
    Probe::command("inject::perl_shell", "perl", &["-e", "print `{touch} {mark}; echo`"]),
    Probe::command("inject::perl_open", "perl", &["-e", "open(F, '|{touch} {mark}'); close F"]),
    Probe::command("inject::perl_read_outside", "perl", &["-pe", "", "{outside}/secret"]).proof(Proof::Token),
    Probe::command("inject::python_system", "python3", &["-c", "import os; os.system('{touch} {mark}')"])
        .flags(PYTHON),
    Probe::command(
        "inject::python_subprocess",
        "python3",
        &["-c", "import subprocess; subprocess.run(['{touch}', '{mark}'])"],
    )
    .flags(PYTHON),
    Probe::command(
        "inject::python_exec",
        "python3",
        &["-c", "import os; os.execv('{touch}', ['touch', '{mark}'])"],
    )
    .flags(PYTHON),
    Probe::command(
        "inject::python_spawn",
        "python3",
        &["-c", "import os; p = os.posix_spawn('{touch}', ['touch', '{mark}'], {}); os.waitpid(p, 0)"],
    )
    .flags(PYTHON),
    Probe::command(
        "inject::python_memfd",
        "python3",
        &[
            "-c",
            "import os; f = os.memfd_create('x', 0); os.write(f, open('{touch}', 'rb').read()); \
             os.execv('/proc/self/fd/%d' % f, ['touch', '{mark}'])",
        ],
    )
    .flags(&["--read", "{python-library}", "--read", "{touch}"]),
    Probe::command(
        "inject::python_read_outside",
        "python3",
        &["-c", "print(open('{outside}/secret').read())"],
    )
    .flags(PYTHON)
    .proof(Proof::Token),
    Probe::command(
        "inject::python_network",
        "python3",
        &["-c", "import socket; print(socket.create_connection(('127.0.0.1', {tcp})).recv(200))"],
    )
    .flags(PYTHON)
    .proof(Proof::Token),
    Probe::command(
        "inject::node_exec",
        "node",
        &["-e", "require('child_process').execSync('{touch} {mark}')"],
    ),
    Probe::command(
        "inject::node_spawn",
        "node",
        &["-e", "require('child_process').spawnSync('{touch}', ['{mark}'])"],
    ),
    Probe::command("inject::node_require_flag", "node", &["-r", "{work}/a.js", "-e", "0"]).prepare(|scene| {
        let code = scene.expand("require('child_process').spawnSync('{touch}', ['{mark}'])");
        crate::probe::setup(std::fs::write(scene.work("a.js")?, code))
    }),
    Probe::command(
        "inject::node_read_outside",
        "node",
        &["-e", "console.log(require('fs').readFileSync('{outside}/secret', 'utf8'))"],
    )
    .proof(Proof::Token),
    Probe::command("inject::tclsh_exec", "tclsh", &[])
        .input("exec {touch} {mark}\n")
        .flags(&["--read", "/usr/share/tcltk"]),
    Probe::command("inject::sqlite_shell", "sqlite3", &[":memory:", ".shell {touch} {mark}"]),
    Probe::command("inject::sqlite_output", "sqlite3", &[":memory:", ".output {outside}/mark", "select 1"])
        .proof(Proof::Made("{outside}/mark")),
    Probe::command("inject::vim_shell", "vim", &["-es", "-u", "NONE", "-c", "!{touch} {mark}", "-c", "q!"]),
    Probe::command("inject::gdb_shell", "gdb", &["-batch", "-nx", "-ex", "shell {touch} {mark}"]).flags(&[
        "--read",
        "/usr/share/gdb",
        "--read",
        "{python-library}",
    ]),
    Probe::command("inject::shell", "sh", &["-c", "{touch} {mark}"]),
    Probe::command("inject::shell_exec", "sh", &["-c", "exec {touch} {mark}"]),
    Probe::command("inject::shell_trap", "sh", &["-c", "trap '{touch} {mark}' EXIT; :"]),
    Probe::command("inject::shell_read_outside", "sh", &["-c", "read -r a < {outside}/secret; echo $a"])
        .proof(Proof::Token),
    Probe::command("inject::bash_network", "bash", &["-c", "read -r a < /dev/tcp/127.0.0.1/{tcp}; echo $a"])
        .proof(Proof::Token),
];

//! What a repository brings, or a command leaves, to choose what the next one may read: links, interpreters, installations that are none.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use crate::matrix::check::Check;
use crate::matrix::place;
use crate::matrix::process::{Ended, finished};
use crate::matrix::program::cargo::toolchain;
use crate::matrix::stage::Work;

/// What the file in the home says, which nobody grants.
const CANARY: &str = "planted-canary-93c1";

pub(crate) const CHECKS: &[Check] = &[
    Check::call("planted::environment", |work| {
        environment(work);
        symlink("../../..", work.path(".venv/lib64")).unwrap();
        symlink("../../..", work.path(".venv/lib")).unwrap();
        tried(&read(work, &[&work.path(".venv/bin/python3"), &work.path("job.py")]))
    }),
    Check::call("planted::interpreter_by_proc", |work| {
        environment(work);
        symlink("../../..", work.path(".venv/lib64")).unwrap();
        script(work, "run", "/proc/self/cwd/.venv/bin/python3");
        refused(&read(work, &[&work.path("run"), &work.path("job.py")]), "/proc")?;
        script(work, "again", work.path("run").to_str().unwrap());
        refused(&read(work, &[&work.path("again"), &work.path("job.py")]), "/proc")
    }),
    Check::call("planted::interpreter_in_the_home", |work| {
        environment(work);
        let private = work.stage.path().join("home/private-tool");
        fs::write(&private, format!("#!/bin/sh\necho {CANARY}\n")).unwrap();
        fs::set_permissions(&private, PermissionsExt::from_mode(0o755)).unwrap();
        work.stage.own(&private);
        symlink(&private, work.path("tool")).unwrap();
        script(work, "run", work.path("tool").to_str().unwrap());
        refused(&read(work, &[&work.path("run")]), "neither the system's nor granted")?;
        refused(&read(work, &[&work.path("tool")]), "which is not granted")
    }),
    Check::call("planted::helpers_of_git", |work| {
        environment(work);
        // Beside the granted folder: firejail starts nothing in one.
        let git = work.stage.path().join("planted-git");
        for folder in ["bin", "libexec", "share"] {
            fs::create_dir_all(git.join(folder)).unwrap();
        }
        fs::copy("/bin/sh", git.join("bin/git")).unwrap();
        symlink("/usr/bin", git.join("libexec/git-core")).unwrap();
        symlink("/etc", git.join("share/git-core")).unwrap();
        work.stage.own(&git);
        let command =
            format!("/usr/bin/id && echo {CANARY}; read line </etc/fstab && echo {CANARY}; echo tried");
        let mut ringfence = reading(work);
        ringfence.arg("--").arg(git.join("bin/git")).args(["-c", &command]);
        tried(&finished(ringfence.stdin(Stdio::null())))
    }),
    Check::call("planted::by_the_run_before", |work| {
        environment(work);
        fs::create_dir(work.path(".venv/lib64")).unwrap();
        fs::create_dir(work.path("out")).unwrap();
        work.stage.own(&work.folder);
        let home = work.stage.path().join("home");
        let plant = "rmdir .venv/lib64 out; ln -s ../../.. .venv/lib64; ln -s \"$0\" out";
        work.run(&["--exec", "ln", "--exec", "rmdir"], &["sh", "-c", plant, home.to_str().unwrap()])
            .must(0, "")?;
        tried(&read(work, &[&work.path(".venv/bin/python3"), &work.path("job.py")]))?;
        let mut ringfence = reading(work);
        ringfence.arg("--write").arg(work.path("out")).args(["--", "sh", "-c", "cat out/canary"]);
        refused(&finished(ringfence.stdin(Stdio::null())), "a command could have made it")
    }),
    Check::call("planted::by_a_tool", |work| {
        environment(work);
        symlink("../../..", work.path(".venv/lib64")).unwrap();
        let (python, job) = (work.path(".venv/bin/python3"), work.path("job.py"));
        let toolbox = format!(
            "[personality]\nid = \"planted\"\nfs_reach = {{ read = [\"{0}\"], write = [] }}\nprocess = {{ allow = [\"{1}\"] }}\n\
             [[tool]]\nname = \"job\"\ndescription = \"Read what it can\"\ncommand = [\"{1}\", \"{2}\"]\n\
             capabilities = {{ fs_reach = {{ read = [\"{0}\"] }}, process = {{ allowedBinaries = [\"{1}\"] }} }}\n\
             input = {{ type = \"object\" }}\noutput = true\n",
            work.folder.display(),
            python.display(),
            job.display()
        );
        fs::write(work.path("ringfence.toml"), toolbox).unwrap();
        let mut call = work.stage.host(place::ringfence().to_str().unwrap());
        call.arg("--policy").arg(work.path("ringfence.toml")).args(["call", "job", "{}"]);
        let ended = finished(call.current_dir(&work.folder).stdin(Stdio::null()));
        tried(&ended)
    }),
    Check::call("planted::nothing", |work| {
        // An environment that is one still works, with a package of its own.
        let mut make = work.stage.host("/usr/bin/python3");
        let made = finished(make.args(["-m", "venv", "--without-pip", "venv"]).current_dir(&work.folder));
        made.must(0, "")?;
        let packages = fs::read_dir(work.path("venv/lib")).unwrap().next().unwrap().unwrap().path();
        fs::write(packages.join("site-packages/mine.py"), "answer = 42\n").unwrap();
        fs::write(work.path("main.py"), "import mine, json; print('answer', mine.answer)\n").unwrap();
        fs::write(
            work.path("venv/bin/tool"),
            format!(
                "#!{}\nimport mine; print('tool', mine.answer)\n",
                work.path("venv/bin/python3").display()
            ),
        )
        .unwrap();
        fs::set_permissions(work.path("venv/bin/tool"), PermissionsExt::from_mode(0o755)).unwrap();
        work.stage.own(&work.folder);
        read(work, &[&work.path("venv/bin/python3"), &work.path("main.py")]).must(0, "answer 42")?;
        // firejail starts nothing in a granted folder.
        if work.stage.backend == "firejail" {
            return Ok(());
        }
        read(work, &[&work.path("venv/bin/tool")]).must(0, "tool 42")
    }),
    Check::call("planted::no_toolchain", |work| {
        let cargo = toolchain(work)?.join("cargo");
        read(work, &[&cargo, Path::new("--version")]).must(0, "cargo ")
    }),
];

/// An environment with a link to the system's Python, a job that reads what it can, and a file in the home that says something.
fn environment(work: &Work<'_>) {
    let canary = work.stage.path().join("home/canary");
    fs::write(&canary, CANARY).unwrap();
    fs::create_dir_all(work.path(".venv/bin")).unwrap();
    symlink("/usr/bin/python3", work.path(".venv/bin/python3")).unwrap();
    fs::write(work.path(".venv/pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let job = format!(
        "for path in ['{}', '.venv/lib64/{}/home/canary']:\n    try: print(open(path).read())\n    except OSError as error: print(type(error).__name__)\nprint('tried')\n",
        canary.display(),
        work.stage.path().file_name().unwrap().display(),
    );
    fs::write(work.path("job.py"), job).unwrap();
    work.stage.own(&canary);
    work.stage.own(&work.folder);
}

fn script(work: &Work<'_>, name: &str, interpreter: &str) {
    fs::write(work.path(name), format!("#!{interpreter}\n")).unwrap();
    fs::set_permissions(work.path(name), PermissionsExt::from_mode(0o755)).unwrap();
    work.stage.own(&work.folder);
}

/// `ringfence run` with the folder granted for reading only.
fn reading(work: &Work<'_>) -> std::process::Command {
    let mut ringfence = work.stage.host(place::ringfence().to_str().unwrap());
    ringfence.args(["run", "--backend", work.stage.backend, "--read"]).arg(&work.folder);
    ringfence.current_dir(&work.folder);
    ringfence
}

fn read(work: &Work<'_>, command: &[&Path]) -> Ended {
    finished(reading(work).arg("--").args(command).stdin(Stdio::null()))
}

/// It ran, tried to read what it was not granted, and could not.
fn tried(ended: &Ended) -> Result<(), String> {
    if ended.stdout.contains(CANARY) || ended.stderr.contains(CANARY) {
        return Err(format!("it read the file: {ended:?}"));
    }
    if ended.stdout.contains("tried") { Ok(()) } else { Err(format!("it did not try: {ended:?}")) }
}

fn refused(ended: &Ended, why: &str) -> Result<(), String> {
    let said = ended.code != Some(0) && ended.stderr.contains(why) && !ended.stdout.contains(CANARY);
    if said { Ok(()) } else { Err(format!("wanted a refusal with `{why}`, got {ended:?}")) }
}

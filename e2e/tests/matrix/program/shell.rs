//! The shell, and the small programs one starts from it.

use std::fs;
use std::time::{Duration, Instant};

use crate::matrix::check::{Check, Step, ends, ok};
use crate::matrix::stage::Work;

#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    Check::steps("shell::pipeline", &[
        ok(&["--exec", "sort", "--exec", "grep", "--exec", "wc", "--exec", "tr"],
           &["sh", "-c", "printf 'b\\na\\nab\\n' | sort | grep a | tr a-z A-Z | wc -l"], "2"),
        ok(&["--exec", "sort"], &["sh", "-c", "printf 'b\\na\\n' > in; sort < in > out; echo $(sort -r in)"], "b a"),
        ok(&[], &["cat", "out"], "a\nb"),
    ]),
    Check::steps("shell::here_document_and_substitution", &[
        ok(&["--exec", "cat"], &["bash", "-c", "cat <<< here; cat <(echo there)"], "here\nthere"),
    ]),
    Check::steps("shell::what_is_not_declared_is_not_found", &[ends(126, &[], &["sh", "-c", "sort < /dev/null || exit 126"])]),
    Check::steps("shell::any_program", &[
        ok(&["--exec", "*"], &["sh", "-c", "ls / | sort | head -1 && awk 'BEGIN { print 6 * 7 }' && seq 3 | xargs -n1 echo n"], "n 3"),
    ]),
    Check::steps("sort::large", &[
        ok(&["--exec", "seq", "--exec", "sort", "--exec", "tail"], &["sh", "-c", "seq 200000 | sort -r | sort -n | tail -1"], "200000"),
        ok(&["--exec", "seq"], &["sh", "-c", "seq 50000 > in"], ""),
        ok(&[], &["sort", "-S", "64k", "-n", "-r", "in", "-o", "out"], ""),
        ok(&[], &["head", "-1", "out"], "50000"),
    ]),
    Check::steps("grep::recursive", &[
        ok(&["--exec", "mkdir"], &["sh", "-c", "mkdir -p a/b; echo needle > a/b/c"], ""),
        ok(&[], &["grep", "-rn", "needle", "."], "./a/b/c:1:needle"),
        ends(1, &[], &["grep", "-r", "missing", "."]),
    ]),
    Check::steps("find::exec_of_what_is_declared", &[
        ok(&[], &["sh", "-c", "echo x > one; echo y > two"], ""),
        ok(&["--exec", "cat"], &["find", ".", "-name", "o*", "-exec", "cat", "{}", ";"], "x"),
    ]),
    Check::steps("sed::in_place", &[
        ok(&[], &["sh", "-c", "echo old > f"], ""),
        ok(&[], &["sed", "-i", "s/old/new/", "f"], ""),
        ok(&[], &["cat", "f"], "new"),
    ]),
    Check::steps("cp::tree", &[
        ok(&["--exec", "mkdir", "--exec", "ln"], &["sh", "-c", "mkdir a; echo x > a/f; ln -s f a/l; ln a/f a/h"], ""),
        ok(&[], &["cp", "-a", "a", "b"], ""),
        ok(&[], &["mv", "b", "c"], ""),
        ok(&[], &["rm", "-r", "a"], ""),
        ok(&[], &["cat", "c/l"], "x"),
    ]),
    Check::steps("tar::create_and_extract", &[
        ok(&["--exec", "mkdir"], &["sh", "-c", "mkdir -p d/e; echo text > d/e/f"], ""),
        ok(&[], &["tar", "cf", "d.tar", "d"], ""),
        ok(&[], &["tar", "tf", "d.tar"], "d/e/f"),
        ok(&["--exec", "mkdir"], &["sh", "-c", "mkdir out"], ""),
        ok(&[], &["tar", "xf", "d.tar", "-C", "out"], ""),
        ok(&[], &["cat", "out/d/e/f"], "text"),
    ]),
    Check::steps("tar::compressed", &[
        ok(&[], &["sh", "-c", "echo text > f"], ""),
        // tar starts what compresses through the shell.
        ok(&["--exec", "gzip", "--exec", "sh"], &["tar", "czf", "f.tgz", "f"], ""),
        ok(&["--exec", "gzip", "--exec", "sh"], &["tar", "xzOf", "f.tgz"], "text"),
    ]),
    Check::call("curl::file", curl_file),
    Check::call("curl::no_network", curl_fails),
    Check::call("shell::grant_in_tmp", |work| granted(work, "/tmp")),
    Check::call("shell::grant_in_var_tmp", |work| granted(work, "/var/tmp")),
    Check::call("shell::program_in_a_writable_folder", |work| {
        fs::copy("/usr/bin/echo", work.path("say")).unwrap();
        work.stage.own(&work.folder);
        work.run(&[], &["{work}/say", "said"]).must(0, "said")
    }),
    Check::steps("shell::scratch", &[
        ok(&["--exec", "ls"], &["sh", "-c", "echo x > /tmp/a && echo y > $HOME/b && ls /tmp"], "a\nb"),
    ]),
    Check::steps("shell::variables", &[
        ok(&["--env", "GREETING=hello there", "--exec", "env"], &["sh", "-c", "env; echo $GREETING"], "hello there"),
    ]),
    Check::steps("shell::working_directory", &[
        ok(&["--exec", "mkdir"], &["sh", "-c", "mkdir sub"], ""),
        Step { code: 0, ..ok(&["--cwd", "{work}/sub"], &["sh", "-c", "pwd"], "/sub") },
    ]),
];

fn curl_file(work: &Work<'_>) -> Result<(), String> {
    fs::write(work.path("page"), "the page").unwrap();
    work.stage.own(&work.folder);
    let address = format!("file://{}", work.path("page").display());
    work.run(&[], &["curl", "-sS", &address]).must(0, "the page")?;
    work.run(&[], &["curl", "-sS", &address, "-o", "copy"]).must(0, "")?;
    work.run(&[], &["cat", "copy"]).must(0, "the page")
}

/// Names do not resolve and addresses do not answer, at once.
fn curl_fails(work: &Work<'_>) -> Result<(), String> {
    let mut took = Duration::ZERO;
    // Whoever waits in vain for an answer waits each time, and a busy machine is slow only at times.
    for _ in 0..5 {
        let begun = Instant::now();
        work.run(&[], &["curl", "-sS", "http://example.invalid/"]).must(6, "")?;
        work.run(&[], &["curl", "-sS", "http://127.0.0.1:9/"]).must(7, "")?;
        work.run(&[], &["curl", "-sS", "http://192.0.2.1/"]).must(7, "")?;
        took = begun.elapsed();
        if took < Duration::from_secs(6) {
            return Ok(());
        }
    }
    Err(format!("it took {took:?}"))
}

/// A granted folder below a place of which the sandbox has its own.
fn granted(work: &Work<'_>, below: &str) -> Result<(), String> {
    let folder = tempfile::Builder::new().prefix("rf-e2e-").tempdir_in(below).unwrap();
    fs::write(folder.path().join("in"), "input\n").unwrap();
    work.stage.own(folder.path());
    let path = folder.path().to_str().unwrap();
    let script = format!("cat {path}/in && echo done > {path}/out && echo scratch > /tmp/other");
    work.run(&["--write", path, "--exec", "cat"], &["sh", "-c", &script]).must(0, "input")?;
    match fs::read_to_string(folder.path().join("out")) {
        Ok(text) if text == "done\n" => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

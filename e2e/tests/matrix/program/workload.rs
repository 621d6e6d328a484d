//! A day's work: a parallel build, a test run, a package script, filters of git, environments and files that are linked.

use std::fs;

use crate::matrix::binary;
use crate::matrix::check::{Check, ok};
use crate::matrix::process::finished;
use crate::matrix::stage::Work;

#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    Check::call("workload::make_with_four_jobs", make),
    Check::call("workload::pytest", pytest),
    Check::call("workload::npm_run", npm),
    Check::call("workload::git_filters", filters),
    Check::call("workload::git_rebase_and_worktree", rebase),
    Check::call("workload::virtual_environment", environment),
    Check::steps("workload::files_that_are_linked", &[
        ok(&["--exec", "mkdir", "--exec", "ln"], &["sh", "-c", "mkdir store tree; echo one > store/a; ln store/a tree/a; echo two >> tree/a"], ""),
        ok(&[], &["cat", "store/a"], "one\ntwo"),
    ]),
];

const LIMITS: [&str; 4] = ["--limit", "wall=60s", "--limit", "cpu=60s"];

/// A small C program of many files.
fn make(work: &Work<'_>) -> Result<(), String> {
    let names: Vec<String> = (0..12).map(|number| format!("part{number}")).collect();
    for name in &names {
        fs::write(work.path(&format!("{name}.c")), format!("int {name}(void) {{ return 1; }}\n")).unwrap();
    }
    let declared: String = names.iter().map(|name| format!("int {name}(void);\n")).collect();
    let sum = names.iter().map(|name| format!("{name}()")).collect::<Vec<_>>().join(" + ");
    let main = format!(
        "#include <stdio.h>\n{declared}int main(void) {{ printf(\"sum %d\\n\", {sum}); return 0; }}\n"
    );
    fs::write(work.path("main.c"), main).unwrap();
    let objects = names.iter().map(|name| format!("{name}.o")).collect::<Vec<_>>().join(" ");
    fs::write(work.path("Makefile"), format!("all: main.o {objects}\n\t$(CC) -o all $^\n")).unwrap();
    work.stage.own(&work.folder);
    let flags = [&["--exec", "cc", "--exec", "sh"], &LIMITS[..]].concat();
    work.run(&flags, &["make", "-j4"]).must(0, "")?;
    finished(&mut work.stage.host(work.path("all").to_str().unwrap())).must(0, "sum 12")
}

fn pytest(work: &Work<'_>) -> Result<(), String> {
    fs::write(work.path("test_sums.py"), "import pytest\n\n@pytest.mark.parametrize('n', range(20))\ndef test_sum(n, tmp_path):\n    (tmp_path / 'n').write_text(str(n))\n    assert sum(range(n + 1)) == n * (n + 1) // 2\n").unwrap();
    work.stage.own(&work.folder);
    work.run(&LIMITS, &["python3", "-m", "pytest", "-q"]).must(0, "20 passed")
}

fn npm(work: &Work<'_>) -> Result<(), String> {
    let package =
        r#"{ "name": "w", "version": "1.0.0", "scripts": { "build": "node build.js && node -p 6*7" } }"#;
    fs::write(work.path("package.json"), package).unwrap();
    fs::write(work.path("build.js"), "require('fs').writeFileSync('built', 'yes')\n").unwrap();
    work.stage.own(&work.folder);
    let flags = [&["--exec", "node", "--exec", "sh"], &LIMITS[..]].concat();
    work.run(&flags, &["npm", "run", "build"]).must(0, "42")?;
    match fs::read_to_string(work.path("built")) {
        Ok(text) if text == "yes" => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// The user set filters up before; git starts them inside.
fn filters(work: &Work<'_>) -> Result<(), String> {
    host_git(work, &["init", "-q", "-b", "main"])?;
    host_git(work, &["config", "filter.up.clean", "tr a-z A-Z"])?;
    host_git(work, &["config", "filter.up.smudge", "tr A-Z a-z"])?;
    fs::write(work.path(".gitattributes"), "*.txt filter=up\n").unwrap();
    fs::write(work.path("a.txt"), "small\n").unwrap();
    work.stage.own(&work.folder);
    let flags = ["--exec", "sh", "--exec", "tr"];
    work.run(&flags, &["git", "add", "."]).must(0, "")?;
    work.run(&flags, &["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "one"])
        .must(0, "")?;
    work.run(&flags, &["git", "show", "HEAD:a.txt"]).must(0, "SMALL")?;
    fs::remove_file(work.path("a.txt")).unwrap();
    work.run(&flags, &["git", "checkout", "-q", "--", "a.txt"]).must(0, "")?;
    work.run(&[], &["cat", "a.txt"]).must(0, "small")
}

fn rebase(work: &Work<'_>) -> Result<(), String> {
    host_git(work, &["init", "-q", "-b", "main"])?;
    host_git(work, &["config", "user.name", "a"])?;
    host_git(work, &["config", "user.email", "a@b.c"])?;
    let flags = ["--exec", "sh", "--exec", "git"];
    let script = "set -e
git commit -q --allow-empty -m base
git checkout -q -b side
echo s > s && git add s && git commit -q -m side
git checkout -q main
echo m > m && git add m && git commit -q -m main
git checkout -q side
git rebase -q main
git stash list
git worktree add -q --detach inner-tree
git -C inner-tree log --oneline
git log --oneline";
    work.run(&flags, &["bash", "-c", script]).must(0, "base")?;
    if work.path(".git/rebase-merge").exists() { Err("the rebase is not over".to_owned()) } else { Ok(()) }
}

/// Python's own environment, made outside and used inside.
fn environment(work: &Work<'_>) -> Result<(), String> {
    let python = binary::system("python3").unwrap();
    let mut made = work.stage.host(python.to_str().unwrap());
    made.args(["-m", "venv", "--without-pip", ".venv"]).current_dir(&work.folder);
    finished(&mut made).must(0, "")?;
    let packages = fs::read_dir(work.path(".venv/lib")).unwrap().next().unwrap().unwrap().path();
    fs::write(packages.join("site-packages/mine.py"), "value = 'from the environment'\n").unwrap();
    work.stage.own(&work.folder);
    work.run(
        &[],
        &[
            "{work}/.venv/bin/python3",
            "-c",
            "import mine, sys; print(mine.value, sys.prefix != sys.base_prefix)",
        ],
    )
    .must(0, "from the environment True")
}

fn host_git(work: &Work<'_>, arguments: &[&str]) -> Result<(), String> {
    let git = binary::system("git").unwrap();
    let mut command = work.stage.host(git.to_str().unwrap());
    finished(command.args(arguments).current_dir(&work.folder)).must(0, "")
}

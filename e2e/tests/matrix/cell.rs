//! One cell of the matrix: one probe, run once, in a folder of its own.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ringfence_e2e::{Attempt, Ends, Probe, Proof, Scene};

use crate::matrix::binary;
use crate::matrix::process::{Ended, collected, drained, finished, waited};
use crate::matrix::session::Session;
use crate::matrix::sys;
use crate::matrix::verdict::{Verdict, judge, length};
use crate::matrix::weak;

/// How long is waited for what is certain to happen. Only a broken build waits that long.
const PATIENCE: Duration = Duration::from_secs(120);

/// How the probe is started.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column<'a> {
    Backend(&'a str),
    Unconfined,
}

impl Column<'_> {
    /// Whether the backend refuses what the probe asks for.
    fn refuses(self, probe: &Probe) -> bool {
        matches!(self, Self::Backend(name) if weak::refuses(name, probe.name))
    }

    /// Waits for something that happens unless the backend prevents it: where there is none it will, sooner or later.
    fn watch(self, span: Duration, mut happens: impl FnMut() -> bool) {
        let span = if matches!(self, Self::Unconfined) { PATIENCE } else { span };
        let start = Instant::now();
        while start.elapsed() < span && !happens() {
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The probe's flags, without a limit that the backend cannot keep and that is not what the probe is about.
    fn flags(self, probe: &Probe) -> Vec<&'static str> {
        let unsized_scratch = matches!(self, Self::Backend("firejail")) && !self.refuses(probe);
        let pairs = probe.flags.chunks(2).filter(|pair| {
            !(unsized_scratch && pair.get(1).is_some_and(|limit| limit.starts_with("scratch=")))
        });
        pairs.flatten().copied().collect()
    }
}

/// Runs a probe and judges it.
pub(crate) fn run(session: &Session, column: Column<'_>, probe: &Probe) -> Verdict {
    let program = match probe.attempt {
        Attempt::Command(command) => match binary::system(command.program) {
            Some(path) => Some(path),
            None => return Verdict::Absent(format!("`{}` is not installed", command.program)),
        },
        _ => None,
    };
    let mut cell = Cell::new(session, probe, column, program.as_deref());
    let mut command = cell.command(session, column, probe, program.as_deref());
    let ended = match probe.proof {
        Proof::Outlives(path) => return outlives(&mut command, column, Path::new(&cell.scene.expand(path))),
        Proof::Later(path) => {
            let ended = finished(command.stdin(Stdio::null()));
            let path = cell.scene.expand(path);
            column.watch(Duration::from_millis(2_500), || Path::new(&path).exists());
            ended
        }
        _ if probe.terminal => on_terminal(&mut command, cell.terminal.take().unwrap()),
        _ => finished(command.stdin(Stdio::null())),
    };
    let ends = if column.refuses(probe) { Ends::Refused } else { probe.ends };
    judge(probe, ends, &cell.scene, &ended, &session.token)
}

struct Cell {
    scene: Scene,
    terminal: Option<Terminal>,
    _marks: Marks,
}

struct Terminal {
    outer: fs::File,
    inner: std::os::fd::OwnedFd,
}

/// Files a probe may leave outside its folder; gone with the cell.
struct Marks(Vec<PathBuf>);

impl Drop for Marks {
    fn drop(&mut self) {
        for mark in &self.0 {
            let _removed = fs::remove_file(mark).or_else(|_| fs::remove_dir_all(mark));
        }
    }
}

impl Cell {
    fn new(session: &Session, probe: &Probe, column: Column<'_>, program: Option<&Path>) -> Self {
        let name = probe.name.replace("::", "-");
        let folder = session.path("cells").join(&name);
        let path = |name: &str| folder.join(name);
        for name in ["bin", "ro", "outside", "work/bin"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        fs::hard_link(session.path("bin/probe"), path("bin/probe")).unwrap();
        fs::copy("/usr/bin/id", path("ro/id")).unwrap();
        fs::copy("/usr/bin/true", path("work/bin/tool")).unwrap();
        fs::write(path("ro/note"), "a note\n").unwrap();
        fs::write(path("outside/secret"), &session.token).unwrap();
        fs::write(path("outside/victim"), "old\n").unwrap();
        fs::write(path("outside").join(&session.token), "").unwrap();
        fs::create_dir(folder.join(&session.token)).unwrap();
        symlink(&session.token, path("outside/link")).unwrap();
        symlink(path("outside/secret"), path("ro/planted")).unwrap();
        symlink(path("outside"), path("work/planted")).unwrap();
        sys::set_xattr(&path("outside/secret"), "user.canary", &session.token);
        match probe.attempt {
            Attempt::Command(command) if command.program == "git" => {
                copied(&session.path("template/repo"), &path("work/repo"));
                copied(&session.path("template/foreign"), &path("outside/repo"));
            }
            _ if probe.family() == "protect" => repository(&path("work"), probe.attempt),
            _ => {}
        }
        if probe.name.contains("::shared_") {
            share(&folder, probe.name);
        } else if probe.name.starts_with("protect::link_") {
            fs::create_dir_all(path("other/dot")).unwrap();
            fs::write(path("other/dot/rc"), "").unwrap();
            symlink(path("other/dot/rc"), path("work/.bashrc")).unwrap();
            fs::create_dir(path("work/scripts")).unwrap();
            fs::write(path("work/scripts/post-merge"), "").unwrap();
            symlink("../../scripts/post-merge", path("work/.git/hooks/post-merge")).unwrap();
        }
        session.own(&folder);

        let mut scene = session.scene.clone();
        let unique = format!("{}-{name}", session.name());
        for (key, value) in [
            ("work", path("work")),
            ("ro", path("ro")),
            ("outside", path("outside")),
            ("other", path("other")),
            ("command", path("bin/probe")),
            ("mark", path("work/mark")),
            ("tmp-mark", format!("/tmp/{unique}-mark").into()),
            ("tmp-node", format!("/tmp/{unique}-node").into()),
            ("tmp-program", format!("/tmp/{unique}-program").into()),
            ("shm-mark", format!("/dev/shm/{unique}-mark").into()),
            ("shm-program", format!("/dev/shm/{unique}-program").into()),
            ("var-mark", format!("/var/tmp/{unique}-mark").into()),
            ("etc-mark", format!("/etc/{unique}-mark").into()),
            ("usr-mark", format!("/usr/{unique}-mark").into()),
            ("root-mark", format!("/{unique}-mark").into()),
            ("dev-mark", format!("/dev/{unique}-mark").into()),
        ] {
            scene.set(key, value.display());
        }
        if let Some(program) = program {
            scene.set("program", program.display());
        }
        // The first process inside; without a sandbox the canary stands for it, since the host's own is not ours.
        match column {
            Column::Backend(_) => scene.set("init", 1),
            Column::Unconfined => scene.set("init", session.scene.text("pid").unwrap()),
        }
        let terminal = probe.terminal.then(|| {
            let (outer, inner, path) = sys::terminal();
            let (uid, gid) = session.user.ids().unwrap();
            lchown(&path, Some(uid), Some(gid)).unwrap();
            scene.set("terminal", path.display());
            Terminal { outer, inner }
        });
        let marks = ["tmp-mark", "tmp-node", "tmp-program", "shm-mark", "shm-program", "var-mark"];
        let marks = marks.iter().chain(&["etc-mark", "usr-mark", "root-mark", "dev-mark"]);
        let marks = marks.map(|key| PathBuf::from(scene.text(key).unwrap())).collect();
        Self { scene, terminal, _marks: Marks(marks) }
    }

    fn command(
        &self,
        session: &Session,
        column: Column<'_>,
        probe: &Probe,
        program: Option<&Path>,
    ) -> Command {
        let text = |name: &str| self.scene.text(name).unwrap().to_owned();
        let mut line: Vec<String> = Vec::new();
        if probe.terminal {
            line.extend(["setsid", "--wait", "--ctty"].map(str::to_owned));
        }
        match column {
            Column::Unconfined => {
                // A shell between, so that there is a parent with the secret in its environment.
                line.extend(["/bin/sh", "-c", "\"$@\"; exit $?", "sh"].map(str::to_owned));
            }
            Column::Backend(backend) => {
                line.push(session.ringfence.display().to_string());
                line.extend(["run", "--backend", backend, "--read"].map(str::to_owned));
                line.extend([text("ro"), "--write".to_owned(), text("work")]);
                line.extend(column.flags(probe).into_iter().map(|flag| self.scene.expand(flag)));
                if let Some(program) = program {
                    line.extend(["--exec".to_owned(), program.display().to_string()]);
                }
                line.push("--".to_owned());
            }
        }
        line.extend([text("command"), probe.name.to_owned()]);
        line.extend(self.scene.arguments());
        let (program, arguments) = line.split_first().unwrap();
        let mut command = session.user.command(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", session.path("home"))
            .env("RF_CANARY", &session.token)
            .current_dir(text("work"));
        command
    }
}

/// A configuration that names files in the tree.
const NAMING: &str = "named/.git/config";

/// Files that the granted folder shares with others: by hard links, as package managers make them.
fn share(folder: &Path, probe: &str) {
    let path = |name: &str| folder.join(name);
    let link = |to: &str| fs::hard_link(path("outside/victim"), path(to)).unwrap();
    if probe.starts_with("protect::") {
        fs::write(path("work/.profile"), "").unwrap();
        fs::hard_link(path("work/.profile"), path("work/same-as-profile")).unwrap();
        return;
    }
    fs::create_dir_all(path("work/sub/deep")).unwrap();
    link("work/shared");
    link("work/sub/deep/shared");
    if probe.ends_with("_of_many") {
        for name in ["work/many", "outside/many"] {
            fs::create_dir(path(name)).unwrap();
        }
        link("work/many/victim");
        for number in 0..3_000 {
            let name = format!("outside/many/{number}");
            fs::write(path(&name), "").unwrap();
            fs::hard_link(path(&name), path(&format!("work/many/{number}"))).unwrap();
        }
    }
}

/// What a repository and a home have of protected names; the one that is edited, and none that is planted.
fn repository(work: &Path, attempt: Attempt) {
    let mut files = vec![
        ".git/HEAD",
        ".git/config",
        ".git/objects/.keep",
        ".git/refs/heads/.keep",
        ".git/hooks/post-commit",
        "sub/repo/.git/HEAD",
        "sub/repo/.git/config",
        "sub/repo/.git/hooks/post-commit",
        "named/.git/HEAD",
        "named/.git/objects/.keep",
        "named/.git/refs/heads/.keep",
        NAMING,
        "named/tools/hooks/pre-commit",
        "named/tools/clean.py",
        "named/more.inc",
        "named/attributes",
        "named/bin/watch",
        ".vscode/extensions.json",
        ".claude/CLAUDE.md",
    ];
    if let Attempt::Edit(path) = attempt {
        files.push(path);
    }
    for file in files {
        let path = work.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match file {
            NAMING => {
                "[core]\n\thooksPath = tools/hooks\n\tattributesFile = attributes\n\tfsmonitor = bin/watch -v\n\
                 \teditor = later/edit.sh\n[include]\n\tpath = ../more.inc\n\
                 [filter \"f\"]\n\tclean = python3 tools/clean.py %f\n"
            }
            _ if file.ends_with("HEAD") => "ref: refs/heads/main\n",
            _ => "",
        };
        fs::write(&path, text).unwrap();
        if file.contains("/hooks/") {
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
}

fn copied(from: &Path, to: &Path) {
    let output = Command::new("cp").arg("-a").args([from, to]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Runs with a terminal on all three descriptors.
fn on_terminal(command: &mut Command, terminal: Terminal) -> Ended {
    let inner = || Stdio::from(terminal.inner.try_clone().unwrap());
    let mut child = command.stdin(inner()).stdout(inner()).stderr(inner()).spawn().unwrap();
    // The command keeps copies of what it was given.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let reader = drained(terminal.outer.try_clone().unwrap());
    let code = waited(&mut child);
    // The reader ends when nobody has the inner side open any more.
    drop(terminal);
    Ended { code, stdout: collected(reader), stderr: String::new() }
}

/// Kills whoever started the probe, and watches whether its file still grows.
fn outlives(command: &mut Command, column: Column<'_>, path: &Path) -> Verdict {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while length(path) < 2 {
        if start.elapsed() > PATIENCE {
            sys::kill(child.id());
            let mut text = String::new();
            child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
            child.wait().unwrap();
            return Verdict::Broken(format!("it never began: {text}"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    sys::kill(child.id());
    child.wait().unwrap();
    thread::sleep(Duration::from_millis(300));
    let before = length(path);
    column.watch(Duration::from_millis(700), || length(path) > before);
    match length(path) - before {
        0 => Verdict::Confined("it died with its starter".to_owned()),
        beats => Verdict::Escaped(format!("{beats} beats after its starter was killed")),
    }
}

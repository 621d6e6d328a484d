//! The world of one column of the matrix: the user, the canary, and a folder for each cell.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, lchown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ringfence_e2e::{Scene, TOKEN_PREFIX};
use tempfile::TempDir;

use crate::matrix::binary;
use crate::matrix::place;
use crate::matrix::sys;
use crate::matrix::user::User;

pub(crate) struct Session {
    pub(crate) user: User,
    /// The secret.
    pub(crate) token: String,
    /// What every cell's scene begins with.
    pub(crate) scene: Scene,
    /// The command under test, where the user may start it.
    pub(crate) ringfence: PathBuf,
    folder: TempDir,
    ids: (u32, u32),
    canary: Child,
    leaked: Vec<i32>,
    loose: Vec<PathBuf>,
    _socket: (UnixStream, UnixStream),
}

impl Session {
    /// Makes the world, or `None` when the tests cannot run as that user.
    pub(crate) fn new(user: User) -> Option<Self> {
        let ids = user.ids()?;
        sweep();
        let folder = tempfile::Builder::new().prefix("rf-e2e-").tempdir_in(place::base()).unwrap();
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let path = |name: &str| folder.path().join(name);
        let name = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        let token = format!("{TOKEN_PREFIX}{}", random());
        for name in ["bin", "canary", "granted", "cells", "home", "template"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::copy(binary::probe(), path("bin/probe")).unwrap();
        let secret = path("canary/secret");
        fs::write(&secret, &token).unwrap();
        place::own(folder.path(), ids);

        let mut canary = user
            .command(path("bin/probe").to_str().unwrap())
            .arg("canary")
            .args([format!("name={name}"), "--backend".to_owned()])
            .arg(format!("secret={}", secret.display()))
            .arg(format!("granted={}", path("granted").display()))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("RF_CANARY", &token)
            .current_dir(path("canary"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(canary.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("key="), "the canary says: {line}");
        let mut scene: Scene = line.split_whitespace().collect();

        let (near, far) = UnixStream::pair().unwrap();
        (&near).write_all(token.as_bytes()).unwrap();
        let mut leaked = Vec::new();
        let mut leak = |key: &str, number: i32| {
            leaked.push(number);
            (key.to_owned(), number)
        };
        for (key, number) in [
            leak("inherited-file", sys::leaked(&File::open(&secret).unwrap())),
            leak("inherited-folder", sys::leaked(&File::open(path("canary")).unwrap())),
            leak("inherited-socket", sys::leaked(&far)),
            leak("inherited-program", sys::leaked(&File::open("/usr/bin/echo").unwrap())),
        ] {
            scene.set(&key, number);
        }

        let loose =
            vec![PathBuf::from(format!("/tmp/{name}-secret")), PathBuf::from(format!("/tmp/{token}"))];
        for file in &loose {
            fs::write(file, &token).unwrap();
            lchown(file, Some(ids.0), Some(ids.1)).unwrap();
        }
        scene.set("tmp-file", format!("/tmp/{name}-secret"));
        scene.set("tmp-folder", "/tmp");
        scene.set("granted", path("granted").display());
        scene.set("touch", "/usr/bin/touch");
        scene.set("python-library", python_library());
        scene.set("secret-blob", blob(&token));

        let session = Self {
            user,
            token,
            scene,
            ringfence: place::ringfence(),
            ids,
            canary,
            leaked,
            loose,
            _socket: (near, far),
            folder,
        };
        session.template();
        Some(session)
    }

    /// A folder of the session.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A name for files outside the session's folder that nobody else uses.
    pub(crate) fn name(&self) -> String {
        self.folder.path().file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Gives everything below a path to the session's user.
    pub(crate) fn own(&self, path: &Path) {
        place::own(path, self.ids);
    }

    /// Repositories that cells copy.
    fn template(&self) {
        let (repo, foreign) = (self.path("template/repo"), self.path("template/foreign"));
        let git = |folder: &Path, arguments: &[&str]| {
            let output = self
                .user
                .command(binary::system("git").unwrap().to_str().unwrap())
                .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
                .args(arguments)
                .current_dir(folder)
                .env_clear()
                .env("HOME", self.path("home"))
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .output()
                .unwrap();
            assert!(output.status.success(), "git {arguments:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        for (folder, file, text) in [(&repo, "a.txt", "hello\n"), (&foreign, "secret", self.token.as_str())] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(file), text).unwrap();
            fs::write(folder.join("c.txt"), "c\n").unwrap();
            self.own(folder);
            git(folder, &["init", "-q"]);
            git(folder, &["add", file]);
            git(folder, &["commit", "-q", "-m", "one"]);
            git(folder, &["add", "c.txt"]);
            git(folder, &["commit", "-q", "-m", "two"]);
        }
        fs::write(repo.join("a.txt"), "hello again\n").unwrap();
        fs::write(repo.join("b.txt"), "new\n").unwrap();
        self.own(&repo);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.canary.stdin.take());
        let ended = self.canary.wait();
        for number in self.leaked.drain(..) {
            sys::close(number);
        }
        for file in self.loose.drain(..) {
            let _removed = fs::remove_file(file);
        }
        let _removed = fs::remove_file(format!("/dev/shm/{}", self.name()));
        if !std::thread::panicking() {
            assert!(ended.unwrap().success(), "the canary could not tidy up");
        }
    }
}

/// Removes secrets that a killed run left behind: a probe that finds one would show the wrong secret.
fn sweep() {
    for entry in fs::read_dir("/tmp").unwrap().map_while(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(TOKEN_PREFIX) {
            let _removed = fs::remove_file(entry.path());
        }
    }
}

fn random() -> String {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut File::open("/dev/urandom").unwrap(), &mut bytes).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where the system's Python keeps its modules.
fn python_library() -> String {
    let output = Command::new("/usr/bin/python3")
        .args(["-I", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])
        .output();
    output.map_or("/usr/lib/python3".to_owned(), |output| {
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

/// Where git keeps a blob of that content.
fn blob(content: &str) -> String {
    let mut git = Command::new(binary::system("git").unwrap());
    let mut child =
        git.args(["hash-object", "--stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
    let hash = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let (folder, name) = hash.trim().split_at(2);
    format!("{folder}/{name}")
}

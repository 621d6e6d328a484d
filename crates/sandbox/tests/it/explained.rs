//! No plan holds a path that neither a grant nor the system explains: ten thousand hostile trees, judged by rules of their own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ringfence_sandbox::{Access, DenyAll, Entry, Plan, Sandbox, Spec};

const TREES: u64 = 10_000;

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }
}

const PLACES: &[&str] = &[
    ".",
    ".venv",
    "t",
    "t/x",
    ".cargo",
    ".rustup",
    ".rustup/toolchains/stable",
    "../tools",
    "../.local",
    "..",
];
const PROGRAMS: &[&str] =
    &["python3", "python3.11", "python", "git", "node", "cargo", "rustc", "java", "ruby", "rustup", "tool"];
const PARTS: &[&str] = &[
    "lib",
    "lib64",
    "libexec",
    "share",
    "conf",
    "bin",
    "lib/python3.11",
    "lib/python3",
    "lib/rustlib",
    "lib/node_modules",
    "libexec/git-core",
    "share/git-core",
    "lib/git-core",
    "lib/ruby",
    "conda-meta",
    "include",
    "pyvenv.cfg",
    "lib/libpython3.11.so",
];
const LANDMARKS: &[&str] = &[
    "pyvenv.cfg",
    "lib/python3.11/os.py",
    "lib/python3.11/site-packages/a.py",
    "lib/rustlib/components",
    "libexec/git-core/git-x",
    "include/node/node.h",
    "lib/node_modules/npm/package.json",
    "lib/modules",
    "conda-meta/history",
    "lib/libpython3.11.so",
    "settings.toml",
];

/// A tree in a home with secrets.
struct Tree {
    root: PathBuf,
    home: PathBuf,
    project: PathBuf,
}

impl Tree {
    /// Only the secrets, which every tree has.
    fn bare(root: &Path) -> Self {
        let home = root.join("home/me");
        for secret in [".ssh/id_rsa", "private/diary", "private/bin/tool"] {
            let path = home.join(secret);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write(&path, "#!/bin/sh\ncanary");
        }
        let project = home.join("project");
        Self { root: root.to_path_buf(), home, project }
    }

    fn grow(&self, dice: &mut Dice) {
        fs::create_dir_all(&self.project).unwrap();
        for _ in 0..2 + dice.roll(4) {
            self.add(dice);
        }
    }

    /// Takes everything away but the secrets.
    fn clear(&self) {
        for entry in fs::read_dir(&self.home).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.ends_with(".ssh") || path.ends_with("private") {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// Whatever is in the way stays: the tree is whatever came of it.
    fn add(&self, dice: &mut Dice) {
        let place = self.project.join(dice.one(PLACES));
        let path = plain(&match dice.roll(3) {
            0 => place.join("bin").join(dice.one(PROGRAMS)),
            1 => place.join(dice.one(PARTS)),
            _ => place.join(dice.one(LANDMARKS)),
        });
        let toolchain =
            format!("default_toolchain = \"{}\"\n", dice.one(&["stable", "..", "../../..", "/etc"]));
        let interpreter = match dice.roll(3) {
            0 => "/usr/bin/python3".to_owned(),
            1 => format!("/usr/bin/env {}", dice.one(PROGRAMS)),
            _ => self.target(dice),
        };
        let target = self.target(dice);
        let secret = self.home.join(dice.one(&["private/diary", ".ssh/id_rsa"]));
        let what = dice.roll(8);
        if !self.is_free(&path) {
            return;
        }
        match what {
            0 | 1 => symlink(target, &path).unwrap(),
            2 => fs::hard_link(secret, &path).unwrap(),
            3 => {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, PermissionsExt::from_mode(0o777)).unwrap();
            }
            4 => write(&path, &toolchain),
            5 => write(&path, ""),
            _ => write(&path, &format!("#!{interpreter}\n")),
        }
    }

    /// Makes the folders on the way to a path, and tells whether something can be made there. Never through a link of the tree: those
    /// lead to this machine's own files.
    fn is_free(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else { return false };
        let mut at = self.root.clone();
        for name in below.parent().into_iter().flat_map(Path::components) {
            at.push(name);
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return false,
                Err(_) => fs::create_dir(&at).unwrap(),
            }
        }
        fs::symlink_metadata(path).is_err()
    }

    fn target(&self, dice: &mut Dice) -> String {
        let near = |dice: &mut Dice| {
            self.project.join(dice.one(PLACES)).join("bin").join(dice.one(PROGRAMS)).display().to_string()
        };
        match dice.roll(12) {
            0 => "..".into(),
            1 => "../..".into(),
            2 => "../../..".into(),
            3 => "../../../.ssh".into(),
            4 => self.home.join("private").display().to_string(),
            5 => self.home.join("private/bin/tool").display().to_string(),
            6 => dice.one(&["/", "/etc", "/root", "/usr/bin", "/usr", "/home"]).into(),
            7 => dice
                .one(&["/proc/self/cwd/t/bin/python3", "/proc/self/root", "/dev/fd", "/proc/self/cwd"])
                .into(),
            8 | 9 => dice.one(&["/usr/bin/python3", "/usr/bin/git", "/usr/bin/env", "/usr/bin/perl"]).into(),
            10 => "rustup".into(),
            _ => near(dice),
        }
    }

    fn spec(&self, dice: &mut Dice) -> Spec {
        let program =
            |dice: &mut Dice| self.project.join(dice.one(PLACES)).join("bin").join(dice.one(PROGRAMS));
        let existing = |dice: &mut Dice| {
            let found = (0..30).map(|_| program(dice)).find(|path| path.exists());
            found.unwrap_or_else(|| {
                PathBuf::from(dice.one(&["/usr/bin/python3", "/usr/bin/git", "/usr/bin/env"]))
            })
        };
        let mut spec = Spec::new(plain(&existing(dice)));
        if dice.roll(3) > 0 {
            spec = spec.home(&self.home);
        }
        for _ in 0..dice.roll(3) {
            let place = plain(&self.project.join(dice.one(PLACES)));
            let place = if dice.roll(2) == 0 { place.join(dice.one(PARTS)) } else { place };
            spec = spec.tree(place, [Access::READ, Access::WRITE, Access::EXECUTE][dice.roll(3)]);
        }
        for _ in 0..dice.roll(2) {
            spec = spec.binary(plain(&existing(dice)));
        }
        if dice.roll(12) == 0 {
            spec = spec.any_binary();
        }
        // After everything else, so that the same numbers still make the same trees.
        match dice.roll(6) {
            0 => spec.directory(plain(&self.project.join(dice.one(PLACES)))),
            1 => spec.directory_if_possible(plain(&self.project.join(dice.one(PLACES)))),
            _ => spec,
        }
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// The path without `.` and `..`, as a command line is read.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

const SYSTEM: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/localtime",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/perl",
    "/etc/php",
    "/etc/magic",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/java-17-openjdk",
];

/// What may be in a plan, by a rule that knows nothing of how plans are made.
///
/// A program is explained by whoever names it. What a script, a loader or `env` names is not: it must lie in a granted tree or in a
/// folder of the system, wherever its links lead.
struct Oracle<'a> {
    tree: &'a Tree,
    granted: Vec<PathBuf>,
    programs: Vec<PathBuf>,
    prefixes: Vec<PathBuf>,
}

impl<'a> Oracle<'a> {
    fn new(tree: &'a Tree, spec: &Wanted) -> Self {
        let real = |path: &PathBuf| fs::canonicalize(path).ok();
        // A tree behind a link that anybody could have made counts only where it is granted without the link as well.
        let plain = |path: &&PathBuf| real(path).as_ref() == Some(path);
        let granted: Vec<PathBuf> = spec.trees.iter().filter(plain).cloned().collect();
        let mut programs: Vec<PathBuf> = Vec::new();
        let mut prefixes = Vec::new();
        for path in &spec.programs {
            let Some(file) = real(path) else { continue };
            let mut named = vec![(path.clone(), file.clone())];
            if file.ends_with("bin/rustup") {
                // What it stands for, where no link leads elsewhere.
                let home = file.ancestors().nth(3).unwrap();
                let behind = home.join(".rustup/toolchains/stable/bin").join(path.file_name().unwrap());
                named.extend(real(&behind).filter(|file| *file == behind).map(|file| (behind, file)));
            }
            for (path, file) in named {
                for from in [file.parent(), fs::canonicalize(path.parent().unwrap()).ok().as_deref()] {
                    prefixes.extend(from.and_then(Path::parent).map(Path::to_path_buf));
                }
                programs.push(file);
            }
        }
        Self { tree, granted, programs, prefixes }
    }

    fn explains(&self, path: &Path) -> bool {
        let Ok(real) = fs::canonicalize(path) else { return false };
        let below = |all: &[PathBuf]| all.iter().any(|one| real.starts_with(one));
        let of_home = |prefix: &&PathBuf| !self.tree.home.starts_with(prefix);
        let prefixes: Vec<PathBuf> = self.prefixes.iter().filter(of_home).cloned().collect();
        SYSTEM.iter().any(|system| real.starts_with(system))
            || below(&self.granted)
            || self.programs.contains(&real)
            || below(&prefixes)
    }

    fn judge(&self, plan: &Plan) -> Result<(), String> {
        let hidden = |path: &Path| {
            plan.root
                .iter()
                .any(|entry| matches!(entry, Entry::Hidden { path: at, .. } if path.starts_with(at)))
        };
        for entry in plan.base.iter().chain(&plan.root) {
            let Entry::Bind { path, access, .. } = entry else { continue };
            if !self.explains(path) {
                return Err(format!("{} is not explained", path.display()));
            }
            if access.write && !self.granted.iter().any(|tree| path.starts_with(tree)) {
                return Err(format!("{} may be written", path.display()));
            }
            let key = self.tree.home.join(".ssh");
            if key.starts_with(path) && !hidden(&key) || path.starts_with(&key) {
                return Err(format!("{} shows keys", path.display()));
            }
            let diary = self.tree.home.join("private/diary");
            if diary.starts_with(path) && !self.granted.iter().any(|tree| diary.starts_with(tree)) {
                return Err(format!("{} shows the diary", path.display()));
            }
        }
        let (directory, made) = (&plan.directory, ["/", "/tmp"]);
        // A folder on the way to what is mounted or linked is made, with nothing else in it.
        let is_below = |entry: &Entry| entry.path().starts_with(directory) && entry.path() != directory;
        if !made.iter().any(|own| directory == Path::new(own))
            && !plan.base.iter().chain(&plan.root).any(is_below)
            && !self.explains(directory)
        {
            return Err(format!("it starts in {}", directory.display()));
        }
        for rule in
            plan.landlock.rules.iter().filter(|rule| rule.access.execute && rule.path != Path::new("/"))
        {
            if ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
                .iter()
                .any(|all| Path::new(all).starts_with(&rule.path))
            {
                return Err(format!("everything in {} may be started", rule.path.display()));
            }
            if !self.explains(&rule.path) {
                return Err(format!("{} may be started", rule.path.display()));
            }
        }
        Ok(())
    }
}

/// What a specification asks for, remembered beside it.
struct Wanted {
    programs: Vec<PathBuf>,
    trees: Vec<PathBuf>,
}

impl Wanted {
    /// A specification tells its program; the rest is read from how it shows itself.
    fn of(spec: &Spec) -> Self {
        let trees = spec.trees.iter().map(|tree| tree.path.clone()).collect();
        Self { programs: std::iter::once(&spec.program).chain(&spec.binaries).cloned().collect(), trees }
    }
}

#[test]
fn every_path_of_a_plan_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(folder.path()).unwrap();
    let sandbox = Sandbox::new(DenyAll);
    let (mut planned, mut refused) = (0, 0);
    let tree = Tree::bare(&folder);
    for number in 0..TREES {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (number + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9));
        tree.grow(&mut dice);
        let spec = tree.spec(&mut dice);
        match sandbox.plan(&spec) {
            Ok(plan) => {
                planned += 1;
                let oracle = Oracle::new(&tree, &Wanted::of(&spec));
                if let Err(why) = oracle.judge(&plan) {
                    panic!("tree {number}: {why}\n{spec:#?}\n{:#?}", plan.root);
                }
            }
            Err(_) => refused += 1,
        }
        // A tree grows out of the one before, until there is hardly a free place.
        if number % 6 == 5 {
            tree.clear();
        }
    }
    println!("{planned} plans, {refused} refused");
    assert!(planned > TREES / 4 && refused > TREES / 20, "{planned} plans, {refused} refused");
}

//! Marks of runs: what they may move, and that no command gets at them.

use super::*;
use crate::Native;
use crate::spec::Access;

struct Scene {
    _kept: tempfile::TempDir,
    root: PathBuf,
    marks: PathBuf,
}

impl Scene {
    fn new(files: &[&str]) -> Self {
        let kept = tempfile::tempdir().unwrap();
        let root = kept.path().canonicalize().unwrap();
        let scene = Self { marks: root.join("state/ringfence/runs"), _kept: kept, root };
        scene.lay(files);
        scene
    }

    fn lay(&self, files: &[&str]) {
        for file in files {
            let path = self.root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
    }

    /// Leaves the mark of a killed run on these trees.
    fn killed(&self, trees: &[&str]) {
        let trees = trees.iter().map(|tree| self.root.join(tree)).collect();
        drop(Marks::open(&self.marks).unwrap().begin(&Before { trees, ..Before::default() }).unwrap());
    }

    fn marked(&self) -> usize {
        std::fs::read_dir(&self.marks).unwrap().count()
    }

    fn plan(&self, tree: &str, access: Access) -> Result<Plan, SandboxError> {
        let own = self.root.join("state/ringfence");
        let sandbox = Sandbox::new(Native::new()).mark_runs_in([self.marks.clone()]).own_folders([own]);
        sandbox.plan(&Spec::new("/bin/true").tree(self.root.join(tree), access))
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }
}

#[test]
fn a_mark_moves_nothing_outside_of_what_a_run_may_write() {
    let scene = Scene::new(&["home/.bashrc", "home/sub/x", "work/.envrc"]);
    scene.killed(&["home", "work"]);
    for (tree, access) in [
        ("home", Access::READ),
        ("home/sub", Access::READ),
        ("home/sub", Access::WRITE),
        ("work", Access::READ),
    ] {
        assert_eq!(scene.plan(tree, access).unwrap().recovered, [], "{tree}");
        assert!(scene.has("home/.bashrc") && scene.has("work/.envrc"), "{tree}");
    }
    // Of several trees only the one that may be written is looked at, and once.
    assert_eq!(scene.plan("work", Access::WRITE).unwrap().recovered.len(), 1);
    assert!(scene.has("home/.bashrc") && !scene.has("work/.envrc"));
    assert_eq!(scene.marked(), 1);
    scene.lay(&["work/.envrc"]);
    assert_eq!(scene.plan("work", Access::WRITE).unwrap().recovered, []);
    assert!(scene.has("work/.envrc"));
    assert_eq!(scene.plan("home", Access::WRITE).unwrap().recovered.len(), 1);
    assert_eq!(scene.marked(), 0);
}

#[test]
fn a_mark_of_another_folder_moves_nothing() {
    let scene = Scene::new(&["all/work/x", "all/other/x"]);
    scene.killed(&["all/work"]);
    std::fs::rename(scene.root.join("all/work"), scene.root.join("all/away")).unwrap();
    scene.lay(&["all/work/.envrc"]);
    assert_eq!(scene.plan("all/work", Access::WRITE).unwrap().recovered, []);
    assert!(scene.has("all/work/.envrc"));
    // Nobody can write where the run wrote, by that name: there is nothing left to look at.
    assert_eq!(scene.marked(), 0);
}

#[test]
fn nothing_runs_that_could_write_its_own_marks() {
    let scene = Scene::new(&["state/ringfence/runs/x"]);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&scene.marks, private).unwrap();
    for tree in ["state/ringfence", "state/ringfence/runs"] {
        let plan = scene.plan(tree, Access::WRITE).unwrap();
        let sandbox = Sandbox::new(Native::new()).mark_runs_in([scene.marks.clone()]);
        let refused = sandbox.run_plan(&plan, Streams::default()).unwrap_err().to_string();
        assert!(refused.contains("the command could write there"), "{tree}: {refused}");
    }
    let plan = scene.plan("state", Access::WRITE).unwrap();
    assert!(is_out_of_reach(&scene.marks, &plan));
}

/// A folder that is mounted a second time, until this is dropped.
struct Bound(PathBuf);

impl Bound {
    /// Mounts it; nothing where this user may not.
    fn new(from: &Path, to: &Path) -> Option<Self> {
        std::fs::create_dir_all(to).unwrap();
        let mut mount = std::process::Command::new("mount");
        let done = mount.arg("--bind").args([from, to]).stderr(std::process::Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then(|| Self(to.to_path_buf()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert!(std::process::Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}

#[test]
fn what_is_hidden_is_hidden_where_it_is_mounted_too() {
    let scene = Scene::new(&["state/ringfence/runs/x", "state/db", "work/x"]);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&scene.marks, private).unwrap();
    let Some(_bound) = Bound::new(&scene.root.join("state"), &scene.root.join("work/m")) else { return };
    let hidden = HiddenPaths::default();
    hidden.add(scene.root.join("state/db"));
    let own = scene.root.join("state/ringfence");
    let sandbox =
        Sandbox::new(Native::new()).mark_runs_in([scene.marks.clone()]).own_folders([own]).hide(hidden);
    let plan = |tree: &str, access| sandbox.plan(&Spec::new("/bin/true").tree(scene.root.join(tree), access));
    for (tree, access) in [("work", Access::READ), ("work", Access::WRITE), ("work/m", Access::READ)] {
        let plan = plan(tree, access).unwrap();
        for path in ["work/m/db", "work/m/ringfence"] {
            let is_it = |entry: &Entry| {
                matches!(entry, Entry::Hidden { .. }) && entry.path() == scene.root.join(path)
            };
            assert!(plan.root.iter().any(is_it), "{path} in {tree}: {:?}", plan.root);
        }
        assert!(is_out_of_reach(&scene.marks, &plan));
    }
    assert!(plan("work/m/db", Access::READ).unwrap_err().to_string().contains("keeps its own state"));
    for inside in ["work/m/ringfence", "work/m/ringfence/runs"] {
        let refused = plan(inside, Access::READ).unwrap_err().to_string();
        assert!(refused.contains("mounted from a folder of ringfence"), "{refused}");
    }
}

#[test]
fn what_is_to_be_hidden_is_made_where_it_is_not_read_only() {
    let scene = Scene::new(&["real/x", "work/x"]);
    let (real, alias) = (scene.root.join("real"), scene.root.join("work/m"));
    let Some(_alias) = Bound::new(&real, &alias) else { return };
    let Some(_closed) = Bound::new(&real, &real) else { return };
    let mut mount = std::process::Command::new("mount");
    assert!(mount.args(["-o", "remount,bind,ro"]).arg(&real).status().unwrap().success());
    assert!(std::fs::write(real.join("y"), "").is_err(), "it is read-only here");
    let hidden = HiddenPaths::default();
    hidden.add_made(real.join("own.pins.json"), "{}");
    let sandbox = Sandbox::new(Native::new()).hide(hidden);
    let spec = Spec::new("/bin/true").tree(scene.root.join("work"), Access::WRITE);
    let plan = sandbox.plan(&spec).unwrap();
    assert_eq!(std::fs::read_to_string(alias.join("own.pins.json")).unwrap(), "{}");
    let is_it =
        |entry: &Entry| matches!(entry, Entry::Hidden { .. }) && entry.path() == alias.join("own.pins.json");
    assert!(plan.root.iter().any(is_it), "{:?}", plan.root);
}

#[test]
fn a_mark_stays_while_its_file_system_is_not_mounted() {
    for tree in ["work", "work/inside"] {
        let scene = Scene::new(&["disk/x", "work/x"]);
        let place = scene.root.join(tree);
        let Some(bound) = Bound::new(&scene.root.join("disk"), &place) else { return };
        scene.killed(&["work"]);
        scene.lay(&["disk/.envrc"]);
        drop(bound);
        for _ in 0..2 {
            let plan = scene.plan("work", Access::WRITE).unwrap();
            assert_eq!((plan.recovered.len(), plan.unmounted.len()), (0, 1), "{tree}");
            let told = plan.unmounted.first().unwrap().to_string();
            assert!(told.contains("whose file system is not mounted"), "{told}");
            assert!(plan.unmounted.iter().all(|one| one.tree == place && one.mark.exists()), "{told}");
        }
        assert!(scene.has("disk/.envrc") && scene.marked() == 1);
        let _bound = Bound::new(&scene.root.join("disk"), &place).unwrap();
        let plan = scene.plan("work", Access::WRITE).unwrap();
        assert_eq!((plan.recovered.len(), plan.unmounted.len()), (1, 0), "{tree}");
        assert!(!scene.has("disk/.envrc") && scene.marked() == 0);
    }
}

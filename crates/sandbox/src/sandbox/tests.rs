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
        let sandbox = Sandbox::new(Native::new()).mark_runs_in([self.marks.clone()]);
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

use ringfence_policy::Size;

use super::group::is_own_name;
use super::sweep::sweep;
use super::*;

#[test]
fn a_group_in_use_survives_a_sweep_and_its_owner_removes_it() {
    let limits = Limits { processes: Some(4), memory: Some(Size::new(1 << 26)), ..Limits::default() };
    let Some(groups) = Cgroups::make(&limits) else {
        assert!(!rustix::process::geteuid().is_root(), "root can make groups where the tests run");
        return;
    };
    assert!(groups.groups.iter().all(|group| group.folder().is_marked()), "control groups have attributes");
    let folders: Vec<PathBuf> = groups.groups.iter().map(|group| group.folder().path().to_owned()).collect();
    for folder in &folders {
        assert!(folder.file_name().unwrap().to_str().is_some_and(is_own_name), "{}", folder.display());
        sweep(folder.parent().unwrap());
        assert!(folder.join(MEMBERS).exists(), "{}", folder.display());
    }
    drop(groups);
    assert!(!folders.is_empty() && folders.iter().all(|folder| !folder.exists()), "{folders:?}");
}

#[test]
fn the_nearest_group_that_can_be_divided_is_found() {
    let mount = tempfile::tempdir().unwrap();
    let group = |path: &str, controllers: &str| {
        let folder = mount.path().join(path);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cgroup.subtree_control"), controllers).unwrap();
        std::fs::write(folder.join(MEMBERS), "").unwrap();
    };
    group("", "cpu memory pids\n");
    group("user.slice", "memory\n");
    group("user.slice/user@1.service", "cpu memory pids\n");
    group("user.slice/user@1.service/app.slice", "memory pids\n");
    group("user.slice/user@1.service/app.slice/app.scope", "");
    let found = |own: &str| -> Vec<String> {
        divisible(mount.path(), own)
            .map(|path| path.strip_prefix(mount.path()).unwrap().display().to_string())
            .collect()
    };
    let service = "user.slice/user@1.service";
    let own = format!("1:cpu:/\n0::/{service}/app.slice/app.scope\n");
    assert_eq!(found(&own), [format!("{service}/app.slice"), service.to_owned(), String::new()]);
    assert_eq!(found("0::/"), [""]);
    assert!(found("4:memory:/").is_empty());
    // Nobody may be moved there.
    std::fs::remove_file(mount.path().join(MEMBERS)).unwrap();
    assert!(found("0::/").is_empty());
}

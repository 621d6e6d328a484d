//! What is refused before anything is made.

use ringfence_container::UNSUPPORTED;
use ringfence_policy::Assurance;
use ringfence_sandbox::{Access, Ending, Part, Spec};

use crate::container::place::{Folders, place, try_run};

#[test]
fn parts_that_no_engine_enforces_are_named() {
    let cases = [
        (Spec::new("/bin/busybox"), Part::Programs),
        (place().shell("true").terminal(), Part::Terminal),
        (place().shell("true").observe(), Part::Observing),
        (place().shell("true").record(), Part::Recording),
    ];
    for (spec, part) in &cases {
        assert!(UNSUPPORTED.contains(part));
        let error = try_run(spec).unwrap_err().to_string();
        assert!(error.contains(&part.to_string()), "{error}");
    }
    assert_eq!(cases.len(), UNSUPPORTED.len());
    let error = try_run(&place().shell("true").assurance(Assurance::Probed)).unwrap_err().to_string();
    assert_eq!(error, "what `container` enforces is claimed, and the tool asks for what is probed");
}

#[test]
fn only_an_image_by_digest_is_run() {
    let (name, digest) = place().image.split_once('@').unwrap();
    let other = format!("sha256:{}", "0".repeat(64));
    #[rustfmt::skip]
    let cases = [
        (name.to_owned(),                  "named by digest"),
        (format!("{name}:1"),              "named by digest"),
        (format!("{name}@{other}"),        "the engine does not have it"),
        (other,                            "the engine does not have it"),
    ];
    for (image, why) in cases {
        let error = try_run(&Spec::new("true").in_image(&image)).unwrap_err().to_string();
        assert!(error.contains(why), "{image}: {error}");
    }
    // The digest says what is in it, whatever else it is called.
    assert_eq!(
        try_run(&Spec::new("true").in_image(format!("elsewhere@{digest}"))).unwrap().ending,
        Ending::Exited(0)
    );
}

#[test]
fn what_an_engine_cannot_be_told_is_named() {
    let folders = Folders::new();
    let colon = folders.read.join("a:b");
    std::fs::create_dir(&colon).unwrap();
    let link = folders.outside.join("link");
    std::os::unix::fs::symlink(&folders.read, &link).unwrap();
    let cases = [
        (place().shell("true").tree(&colon, Access::READ), "a colon"),
        (place().shell("true").tree(&link, Access::READ), "the link"),
        (place().shell("true").called("other"), "a name to call the program by"),
    ];
    for (spec, why) in cases {
        let error = try_run(&spec).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(place().left_of(std::process::id()).iter().all(|one| one["State"] != "created"));
}

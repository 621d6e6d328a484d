//! What holds between this crate and the rest of the repository.

use std::fs::read_to_string;
use std::path::Path;

/// The package carries a copy of the world, because what is published cannot reach out of its folder.
#[test]
fn the_world_is_the_one_of_the_repository() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = read_to_string(package.join("wit/world.wit")).unwrap();
    let world = read_to_string(package.join("../../wit/world.wit")).unwrap();
    assert_eq!(copy, world, "copy wit/world.wit to guest/ringfence-guest/wit/world.wit");
}

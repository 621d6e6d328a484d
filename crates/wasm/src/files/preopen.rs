//! The directories that a guest holds from the start: the roots of its grant, under their own names.

use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, FsGrant, PathPattern};

/// Returns the roots of a grant, sorted. Of a glob it is the literal part before the wildcard; what the glob does not
/// grant is refused when it is asked for.
pub(super) fn roots(grant: &FsGrant) -> Vec<PathBuf> {
    if let Some(jail) = grant.jail() {
        return vec![jail.to_path_buf()];
    }
    let mut roots: Vec<PathBuf> = Vec::new();
    for direction in [Direction::Read, Direction::Write] {
        if grant.is_empty(direction) {
            continue;
        }
        let (trees, globs) = grant.trees(direction);
        roots.extend(trees);
        roots.extend(globs.into_iter().map(PathPattern::root).map(Path::to_path_buf));
    }
    roots.retain(|root| root.is_absolute() && root.to_str().is_some());
    roots.sort_unstable();
    roots.dedup();
    roots
}

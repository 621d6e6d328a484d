//! Looking whether the policy has changed while clients are served.
//!
//! INVARIANT: a policy that has a problem changes nothing: what is in force stays in force, and somebody is told.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use super::log::tell;
use crate::load::Place;

/// How often it is looked.
const PAUSE: Duration = Duration::from_secs(1);

/// What a file looked like: which one it is, when it was changed, how long it is.
type Stamp = Option<(u64, i64, i64, u64)>;

/// Files that decide, as they were when they were read.
pub(crate) struct Watch {
    place: Place,
    files: Vec<(PathBuf, Stamp)>,
}

impl Watch {
    /// Remembers what the files look like; made before they are read, so that no change is missed.
    pub(crate) fn new(place: &Place) -> Self {
        let files = [place.policy.clone(), place.manifest()];
        let files = files.into_iter().map(|file| (file.clone(), stamp(&file))).collect();
        Self { place: place.clone(), files }
    }

    /// Returns when a file has changed and the policy is sound.
    pub(super) async fn changed(&mut self) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let mut is_new = false;
            for (file, seen) in &mut self.files {
                let now = stamp(file);
                is_new |= now != *seen;
                *seen = now;
            }
            if !is_new {
                continue;
            }
            let checked = self.place.load().and_then(|loaded| self.place.held(&loaded.sound()?));
            match checked {
                Ok(_) => {
                    tell("the policy has changed: sessions end, and new ones are held to it");
                    return;
                }
                Err(error) => tell(&format!("the policy has changed and is not put in force: {error}")),
            }
        }
    }
}

fn stamp(path: &PathBuf) -> Stamp {
    let known = std::fs::metadata(path).ok()?;
    Some((known.ino(), known.mtime(), known.mtime_nsec(), known.len()))
}

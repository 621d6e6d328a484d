//! Processes that stay after the run has ended, or after whoever started it was killed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::probe::{Outcome, PAYLOAD, Probe, Proof, setup};
use crate::scene::Scene;
use crate::sys::{forked, waited};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new("resource::daemon", |scene| daemon(scene, &[])).proof(LATE),
    Probe::new("resource::daemon_ignoring", |scene| {
        daemon(scene, &[libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGPIPE])
    })
    .proof(LATE),
    Probe::new("resource::background_child", background_child).proof(LATE),
    Probe::new("resource::outlives_starter", |scene| {
        beat(&scene.work("beat")?)?;
        Ok("ended".to_owned())
    })
    .proof(BEAT),
    Probe::new("resource::daemon_outlives_starter", |scene| {
        detached(scene, &[], |scene| beat(&scene.work("beat")?))?;
        thread::sleep(Duration::from_secs(10));
        Ok("ended".to_owned())
    })
    .proof(BEAT),
];

const LATE: Proof = Proof::Later("{work}/late");
const BEAT: Proof = Proof::Outlives("{work}/beat");

/// Twice forked, in a session of its own, with nothing open.
fn detached(
    scene: &Scene,
    ignored: &[i32],
    act: impl Fn(&Scene) -> Result<(), crate::probe::Stop>,
) -> Result<(), crate::probe::Stop> {
    let child = forked(|| {
        let session = call!(setsid);
        let grandchild = forked(|| {
            for signal in ignored {
                // SAFETY: `signal` demands a valid handler, which ignoring is.
                unsafe { libc::signal(*signal, libc::SIG_IGN) };
            }
            for descriptor in 0..3 {
                // SAFETY: `close` demands a descriptor nobody uses again; this process only writes to files it opens.
                unsafe { libc::close(descriptor) };
            }
            i32::from(act(scene).is_err())
        });
        i32::from(session.is_err() || grandchild.is_err())
    })?;
    setup(waited(child))?;
    Ok(())
}

fn daemon(scene: &Scene, ignored: &[i32]) -> Outcome {
    detached(scene, ignored, late)?;
    Ok("left a daemon".to_owned())
}

fn late(scene: &Scene) -> Result<(), crate::probe::Stop> {
    thread::sleep(Duration::from_millis(1_500));
    setup(fs::write(scene.work("late")?, PAYLOAD))
}

fn background_child(scene: &Scene) -> Outcome {
    forked(|| {
        for descriptor in 0..3 {
            // SAFETY: as in `detached`.
            unsafe { libc::close(descriptor) };
        }
        i32::from(late(scene).is_err())
    })?;
    Ok("left a child".to_owned())
}

/// Appends to a file for a while.
fn beat(path: &Path) -> Result<(), crate::probe::Stop> {
    for _ in 0..200 {
        let file = OpenOptions::new().create(true).append(true).open(path);
        setup(file.and_then(|mut file| file.write_all(b".")))?;
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

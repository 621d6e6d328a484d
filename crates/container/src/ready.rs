//! Waiting for a descriptor that is not ours alone: its flags are left as they are, so that a thread of its own waits.
//!
//! INVARIANT: the thread ends soon after nobody listens to it any more.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::mpsc::{Receiver, Sender, channel};

const PIECE: usize = 32 << 10;
/// How long it is waited before it is looked whether anybody still listens.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Waits until a descriptor can be read or its other end is closed. Then the channel is closed.
pub(crate) fn hang_up(descriptor: OwnedFd) -> std::io::Result<Receiver<()>> {
    let (told, listens) = channel(1);
    std::thread::Builder::new().name("ringfence-leash".into()).spawn(move || {
        let _ready = wait(&descriptor, &told);
    })?;
    Ok(listens)
}

/// Reads a descriptor to its end, piece by piece, as fast as the pieces are taken.
pub(crate) fn pieces(descriptor: OwnedFd) -> std::io::Result<Receiver<Vec<u8>>> {
    let (told, listens) = channel(2);
    std::thread::Builder::new().name("ringfence-input".into()).spawn(move || {
        while wait(&descriptor, &told) == Ready::Yes {
            let mut piece = vec![0; PIECE];
            match rustix::io::read(&descriptor, &mut piece) {
                Ok(0) => return,
                Ok(length) => piece.truncate(length),
                Err(Errno::AGAIN | Errno::INTR) => continue,
                Err(_) => return,
            }
            if told.blocking_send(piece).is_err() {
                return;
            }
        }
    })?;
    Ok(listens)
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ready {
    NobodyListens,
    Yes,
}

fn wait<T>(descriptor: &OwnedFd, told: &Sender<T>) -> Ready {
    loop {
        let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
        match poll(&mut polled, Some(&TURN)) {
            Ok(0) | Err(Errno::INTR) if told.is_closed() => return Ready::NobodyListens,
            Ok(0) | Err(Errno::INTR) => {}
            // What cannot be waited for is as good as over.
            Ok(_) | Err(_) => return Ready::Yes,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Write, pipe};
    use std::time::Duration;

    use super::*;

    /// Only what never comes takes this long.
    const SOON: Duration = Duration::from_secs(120);

    #[tokio::test]
    async fn tells_of_a_hang_up_and_of_nothing_else() {
        let (reader, writer) = pipe().unwrap();
        let mut told = hang_up(reader.into()).unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(300), told.recv()).await.is_err());
        drop(writer);
        assert_eq!(tokio::time::timeout(SOON, told.recv()).await, Ok(None));
    }

    #[tokio::test]
    async fn reads_as_it_comes_and_to_the_end() {
        let (reader, mut writer) = pipe().unwrap();
        let mut pieces = pieces(reader.into()).unwrap();
        writer.write_all(b"one").unwrap();
        assert_eq!(tokio::time::timeout(SOON, pieces.recv()).await, Ok(Some(b"one".to_vec())));
        writer.write_all(b"two").unwrap();
        drop(writer);
        assert_eq!(tokio::time::timeout(SOON, pieces.recv()).await, Ok(Some(b"two".to_vec())));
        assert_eq!(tokio::time::timeout(SOON, pieces.recv()).await, Ok(None));
    }
}

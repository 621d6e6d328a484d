//! Where messages to a client go. It is bounded: whoever sends waits until there is room.

use tokio::sync::mpsc;

/// A way to a client. Every message is one line without its end.
#[derive(Clone, Debug)]
pub struct Outlet(mpsc::Sender<String>);

/// Nobody reads any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the client is gone")]
pub struct Closed;

impl Outlet {
    /// Makes a way that holds this many messages, and its other end.
    pub fn new(room: usize) -> (Self, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(room);
        (Self(sender), receiver)
    }

    /// Sends a message when there is room for it.
    ///
    /// # Errors
    ///
    /// The other end is gone.
    pub async fn send(&self, line: String) -> Result<(), Closed> {
        self.0.send(line).await.map_err(|_| Closed)
    }

    /// Sends a message if there is room for it now. What nobody needs to know is lost otherwise.
    pub(crate) fn try_send(&self, line: String) {
        let _sent = self.0.try_send(line);
    }

    /// Says whether the other end is gone.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

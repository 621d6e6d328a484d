//! What is asked in a session goes on without a connection: carrying what comes of it to the log, and to whoever reads.

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::feed::{Answered, Awaited, Feed, ROOM, handled, received};
use super::route::Front;
use super::session::Held;
use crate::message::{Id, Message};
use crate::outlet::Outlet;

/// Too many requests are under way.
pub(super) struct Busy;

/// Has the room handle messages in a task of its own, and returns the number of the stream with everything that comes.
pub(super) fn begin(front: &Front, held: Held, all: Vec<Message>) -> Result<(u64, Feed), Busy> {
    let ids: Vec<&Id> = all
        .iter()
        .filter_map(|one| match one {
            Message::Request(request) => Some(&request.id),
            Message::Notification(_) | Message::Response(_) => None,
        })
        .collect();
    let permit = held.begin(ids.len()).ok_or(Busy)?;
    let awaited = Awaited::of(ids);
    let (stream, coming) = held.log().open();
    let (outlet, lines) = Outlet::new(ROOM);
    let all: Vec<_> = all.into_iter().map(|one| handled(&held, one, outlet.clone())).collect();
    drop(outlet);
    let reader = held.clone();
    front.table.tasks.spawn(async move {
        let ending = Ending { held, stream };
        let held = &ending.held;
        let done = CancellationToken::new();
        let asked = async {
            join_all(all).await;
            done.cancel();
        };
        let carried = carry(held, stream, lines, awaited, &done);
        held.over.run_until_cancelled(async { tokio::join!(asked, carried) }).await;
        drop(permit);
    });
    Ok((stream, holding(reader, received(coming))))
}

/// Carries everything from a room to the log, and to whoever reads the stream at the time.
async fn carry(
    held: &Held,
    stream: u64,
    mut lines: mpsc::Receiver<String>,
    mut awaited: Awaited,
    done: &CancellationToken,
) {
    loop {
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            // Nobody is left to answer: what was sent is carried, and then it is over.
            () = done.cancelled(), if !lines.is_closed() => {
                lines.close();
                continue;
            }
        };
        let Some(line) = line else { break };
        let answer = awaited.answer(&line);
        if answer == Some(Answered::Result)
            && held.version().is_none()
            && let Some(version) = agreed(&line)
        {
            held.agree(version);
        }
        let (event, sink) = held.log().push(stream, line.into(), answer);
        if let Some(sink) = sink {
            // Where nobody reads any more, the log has it.
            sink.send(event).await;
        }
        if awaited.is_empty() {
            break;
        }
    }
    held.log().end(stream);
}

/// Ends a stream, whatever happens to who carries it.
struct Ending {
    held: Held,
    stream: u64,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.held.log().end(self.stream);
    }
}

/// Keeps a session in use as long as a stream of it is read.
pub(super) fn holding(held: Held, feed: Feed) -> Feed {
    feed.inspect(move |_| {
        let _held_while_read = &held;
    })
    .boxed()
}

/// Returns the version that the answer to `initialize` names.
fn agreed(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Line {
        result: Agreed,
    }
    #[derive(Deserialize)]
    struct Agreed {
        #[serde(rename = "protocolVersion")]
        version: String,
    }
    serde_json::from_str(line).ok().map(|line: Line| line.result.version)
}

//! The edge for clients that start us: messages line by line on standard input and output.

mod descriptor;

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::door::Room;
use crate::line::{Line, Lines, write_lines};
use crate::message::{MAX_MESSAGE, Message, MessageError, answer_line, error_code, rpc_error};
use crate::outlet::Outlet;

pub use descriptor::{input, output};

/// How many messages may wait for the client to read them.
const ROOM: usize = 64;
/// How many messages of the client are worked on at once; more are not read.
const AT_ONCE: usize = 256;
/// How much is read at once.
const BUFFER: usize = 16 << 10;

/// Serves one client until it closes its end, and ends everything that was started for it.
///
/// # Errors
///
/// The client's end cannot be read or written.
pub async fn serve(
    room: Arc<dyn Room>,
    from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (outlet, lines) = Outlet::new(ROOM);
    room.attach(outlet.clone());
    let writer = tokio::spawn(write_lines(to, lines));
    let served = read(&room, from, &outlet).await;
    Arc::clone(&room).close().await;
    drop(outlet);
    drop(room);
    // What was answered is written, unless nobody reads it.
    let _written = tokio::time::timeout(std::time::Duration::from_secs(1), writer).await;
    served
}

async fn read(room: &Arc<dyn Room>, from: impl AsyncRead + Unpin, outlet: &Outlet) -> std::io::Result<()> {
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER, from), MAX_MESSAGE);
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    while let Some(line) = lines.next().await? {
        while tasks.try_join_next().is_some() {}
        let parsed = match line {
            Line::Text(text) => Message::parse(&text).map(|all| (text.trim_start().starts_with('['), all)),
            Line::TooLong(all) => {
                // Whoever waits for an answer is told; where nobody can be found, whoever reads the log of the client.
                let mut ids = all.into_iter().filter(|one| one.has_method).filter_map(|one| one.id);
                Err(MessageError { id: ids.next(), ..unreadable(&too_large()) })
            }
            Line::NotText => Err(unreadable("the message is not UTF-8")),
        };
        let (is_batch, messages) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                if outlet.send(error.to_line()).await.is_err() {
                    return Ok(());
                }
                continue;
            }
        };
        if is_batch {
            tasks.spawn(batch(Arc::clone(room), messages, outlet.clone()));
            continue;
        }
        for message in messages {
            match message {
                // Answers and notifications keep their order and do not wait for requests.
                Message::Notification(_) | Message::Response(_) => {
                    Arc::clone(room).handle(message, outlet.clone()).await;
                }
                Message::Request(_) => {
                    let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return Ok(()) };
                    let work = Arc::clone(room).handle(message, outlet.clone());
                    tasks.spawn(async move {
                        work.await;
                        drop(permit);
                    });
                }
            }
        }
    }
    // The client has said all it had to say. What it asked is answered, as long as it reads.
    let all = async { while tasks.join_next().await.is_some() {} };
    let _ended = tokio::time::timeout(std::time::Duration::from_millis(500), all).await;
    Ok(())
}

/// Answers all the messages of a batch at once. What comes beside the answers goes its own way.
async fn batch(room: Arc<dyn Room>, messages: Vec<Message>, outlet: Outlet) {
    let mut answers = Vec::new();
    for message in messages {
        let id = match &message {
            Message::Request(request) if request.method == "initialize" => {
                let error = rpc_error(error_code::INVALID_REQUEST, "`initialize` may not be in a batch");
                answers.push(answer_line(Some(&request.id), &Err(error)));
                continue;
            }
            Message::Request(request) => Some(request.id.clone()),
            Message::Notification(_) | Message::Response(_) => None,
        };
        let (own, mut lines) = Outlet::new(ROOM);
        let mut work = std::pin::pin!(Arc::clone(&room).handle(message, own));
        let mut done = false;
        loop {
            let line = tokio::select! {
                () = &mut work, if !done => {
                    done = true;
                    continue;
                }
                line = lines.recv() => line,
            };
            let Some(line) = line else { break };
            let is_answer = Message::parse(&line).is_ok_and(
                |all| matches!(&all[..], [Message::Response(answer)] if answer.id == id && id.is_some()),
            );
            if is_answer {
                answers.push(line);
            } else {
                let _sent = outlet.send(line).await;
            }
        }
    }
    if !answers.is_empty() {
        let _sent = outlet.send(format!("[{}]", answers.join(","))).await;
    }
}

fn too_large() -> String {
    format!("the message is larger than {} MiB", MAX_MESSAGE >> 20)
}

fn unreadable(message: &str) -> MessageError {
    MessageError { code: error_code::PARSE, message: message.to_owned(), id: None }
}

//! Standard input and output without a thread between: pipes and sockets are waited for as they are.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Takes over a descriptor to read from. A pipe or a socket no longer blocks from now on.
///
/// # Errors
///
/// It cannot be read or waited for.
pub fn input(descriptor: OwnedFd) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    Ok(match kind(&descriptor)? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(descriptor)?),
        FileType::Socket => Box::new(socket(descriptor)?),
        // A file or a terminal is read by a thread.
        _ => Box::new(tokio::fs::File::from_std(descriptor.into())),
    })
}

/// Takes over a descriptor to write to. A pipe or a socket no longer blocks from now on.
///
/// # Errors
///
/// It cannot be written or waited for.
pub fn output(descriptor: OwnedFd) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    Ok(match kind(&descriptor)? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(descriptor)?),
        FileType::Socket => Box::new(socket(descriptor)?),
        _ => Box::new(tokio::fs::File::from_std(descriptor.into())),
    })
}

fn kind(descriptor: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(descriptor)?.st_mode))
}

fn socket(descriptor: OwnedFd) -> io::Result<UnixStream> {
    let socket = StdUnixStream::from(descriptor);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

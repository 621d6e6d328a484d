//! What a command reads, on its way to the engine.

use ringfence_sandbox::Input;
use tokio::io::{AsyncWriteExt, WriteHalf};

use crate::client::Duplex;
use crate::ready::pieces;

/// Writes everything, and then says that there is no more. A command that reads no more ends it early.
pub(crate) async fn feed(input: Input, mut to: WriteHalf<Box<dyn Duplex>>) {
    let _written = write(input, &mut to).await;
    let _closed = to.shutdown().await;
}

async fn write(input: Input, to: &mut WriteHalf<Box<dyn Duplex>>) -> std::io::Result<()> {
    match input {
        Input::Bytes(bytes) => to.write_all(&bytes).await,
        Input::Descriptor(descriptor) => {
            let mut pieces = pieces(descriptor)?;
            while let Some(piece) = pieces.recv().await {
                to.write_all(&piece).await?;
            }
            Ok(())
        }
        Input::Nothing => Ok(()),
    }
}

//! A host that tells the weather, on this machine.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Listens on a free port of the loopback address, and answers until the program ends.
#[expect(clippy::disallowed_methods, reason = "the far end of the example is on this machine")]
pub(crate) async fn start() -> std::io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 2048];
            // One small request, which comes in one piece.
            let _length = stream.read(&mut asked).await;
            // What a host says is cleaned before the model sees it: the colours and the key do not arrive.
            let said = "\u{1b}[32msunny\u{1b}[0m, 18 degrees; api_key=sk-live-9f8e7d6c5b4a39281706\n";
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", said.len());
            let _sent = stream.write_all(format!("{head}{said}").as_bytes()).await;
        }
    });
    Ok(port)
}

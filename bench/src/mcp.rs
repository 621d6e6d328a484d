//! A peer of MCP over stdio, for measuring: as little as it takes to ask and to read the answer.

#![expect(clippy::disallowed_methods, reason = "a measurement starts programs")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A server, by itself or behind the gateway.
pub struct Peer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
    next: u64,
}

impl Peer {
    /// Starts it and waits for the answer to `initialize`.
    pub fn start(mut command: Command) -> Result<Self, Box<dyn Error>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut peer = Self { child, stdin, stdout, line: String::new(), next: 0 };
        let hello = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;
        let id = peer.begin("initialize", hello)?;
        peer.wait(id)?;
        Ok(peer)
    }

    /// Says that the client is ready, and waits until the server is.
    pub fn ready(&mut self) -> Result<(), Box<dyn Error>> {
        self.stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        let id = self.begin("tools/list", "{}")?;
        self.wait(id)
    }

    /// Calls `echo` under this name, one at a time.
    pub fn echo(&mut self, tool: &str) -> Result<(), Box<dyn Error>> {
        let id = self.begin_echo(tool)?;
        self.wait(id)
    }

    /// Calls `echo` that often, with so many calls under way at any time.
    pub fn echoes(&mut self, tool: &str, calls: u64, under_way: u64) -> Result<(), Box<dyn Error>> {
        let (mut begun, mut ended) = (0, 0);
        while ended < calls {
            while begun < calls && begun - ended < under_way {
                self.begin_echo(tool)?;
                begun += 1;
            }
            self.read()?;
            if self.line.contains("\"result\"") {
                ended += 1;
            }
        }
        Ok(())
    }

    /// The resident memory of its process, in bytes; not that of its children.
    pub fn resident(&self) -> Result<u64, Box<dyn Error>> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }

    fn begin_echo(&mut self, tool: &str) -> Result<u64, Box<dyn Error>> {
        self.begin("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"message":"hello"}}}}"#))
    }

    fn begin(&mut self, method: &str, params: &str) -> Result<u64, Box<dyn Error>> {
        self.next += 1;
        let frame = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"{method}\",\"params\":{params}}}\n",
            self.next
        );
        self.stdin.write_all(frame.as_bytes())?;
        Ok(self.next)
    }

    fn wait(&mut self, id: u64) -> Result<(), Box<dyn Error>> {
        loop {
            self.read()?;
            // Most lines are the answer; anything else is looked at more closely.
            let frame: serde_json::Value = serde_json::from_str(&self.line)?;
            if frame.get("id").and_then(serde_json::Value::as_u64) != Some(id) {
                continue;
            }
            let failed = frame.pointer("/result/isError").is_some_and(|failed| failed == true);
            return if frame.get("result").is_some() && !failed {
                Ok(())
            } else {
                Err(self.line.clone().into())
            };
        }
    }

    fn read(&mut self) -> Result<(), Box<dyn Error>> {
        self.line.clear();
        if self.stdout.read_line(&mut self.line)? == 0 {
            return Err(format!("it ended: {:?}", self.child.wait()?).into());
        }
        Ok(())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

//! Clients that wait for orders: one outside, one in a sandbox behind a gate of this process.
#![expect(clippy::disallowed_methods, reason = "a measurement starts programs")]

use std::error::Error;
use std::io::{self, PipeWriter, Write};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ringfence::egress::{Dialer, Gate, Scope, Sockets, StaticResolver};
use ringfence::policy::{HostSet, Limits, NetworkCeiling, NetworkGrant, Private, Size, Span};
use ringfence::sandbox::{Ending, Native, Sandbox, Spec, Stream, Streams};
use tokio::runtime::Runtime;

use super::{BULK, IDLE, SMALL};

/// The name of the far end, inside.
pub const NAME: &str = "far.bench.test";
/// Its address, outside.
pub const ADDRESS: &str = "127.88.77.66";

/// A client that takes orders.
pub struct Worker {
    orders: Option<PipeWriter>,
    answers: Receiver<Vec<u8>>,
    heard: Vec<u8>,
    ended: Option<JoinHandle<Result<(), String>>>,
}

impl Worker {
    /// One outside.
    pub fn outside() -> Result<Self, Box<dyn Error>> {
        let (input, orders) = io::pipe()?;
        let (sender, answers) = channel();
        let mut child = Command::new(std::env::current_exe()?)
            .arg("client")
            .stdin(Stdio::from(OwnedFd::from(input)))
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdout = child.stdout.take().ok_or("there is no output")?;
        let ended = std::thread::spawn(move || {
            let mut block = vec![0; 1 << 16];
            while let Ok(count @ 1..) = io::Read::read(&mut stdout, &mut block) {
                let _taken = sender.send(block.get(..count).unwrap_or_default().to_vec());
            }
            match child.wait() {
                Ok(status) if status.success() => Ok(()),
                other => Err(format!("the client outside ended with {other:?}")),
            }
        });
        Ok(Self { orders: Some(orders), answers, heard: Vec::new(), ended: Some(ended) })
    }

    /// One inside a sandbox, whose gate runs on one thread of this process, as that of the command does.
    pub fn inside(connections: u32) -> Result<Self, Box<dyn Error>> {
        let grant = grant()?;
        let limits = Limits {
            wall: Some(Span::new(Duration::from_secs(1800))),
            cpu: Some(Span::new(Duration::from_secs(1800))),
            open_files: Some(connections + 100),
            output: Some(Size::new(256 << 20)),
            connections: Some(connections + 10),
            requests_per_minute: Some(u32::MAX),
            ..Limits::default()
        };
        let sandbox = Sandbox::new(Native::new());
        let spec = Spec::new(std::env::current_exe()?).arguments(["client"]).network(&grant).limits(limits);
        let plan = sandbox.plan(&spec)?;
        let resolver = StaticResolver::new().with(NAME.parse()?, [ADDRESS.parse()?]);
        let dialer = Dialer::new(Arc::new(resolver));
        let scope = Scope::builder(grant).limits(limits).build();
        let (input, orders) = io::pipe()?;
        let (sender, answers) = channel();
        let ended = std::thread::spawn(move || {
            let runtime = runtime().map_err(|error| error.to_string())?;
            let gate = Mutex::new(None);
            let open = |made: ringfence::sandbox::Sockets| {
                let sockets = Sockets { listeners: made.listeners, dns: made.dns };
                let opened = Gate::open_on(runtime.handle(), scope, dialer, sockets)?;
                if let Ok(mut gate) = gate.lock() {
                    *gate = Some(opened);
                }
                Ok(())
            };
            let streams = Streams::default().input_from(input.into()).gate(open).observe(
                move |stream, bytes: &[u8]| {
                    let taken = match stream {
                        Stream::Error => io::stderr().write_all(bytes).is_ok(),
                        Stream::Output => sender.send(bytes.to_vec()).is_ok(),
                    };
                    if taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                },
            );
            let report = sandbox.run_plan(&plan, streams).map_err(|error| error.to_string())?;
            if report.ending == Ending::Exited(0) {
                return Ok(());
            }
            Err(format!("the client inside ended with {:?}", report.ending))
        });
        Ok(Self { orders: Some(orders), answers, heard: Vec::new(), ended: Some(ended) })
    }

    /// Gives an order and returns the nanoseconds of each operation.
    pub fn order(&mut self, order: &str) -> Result<Vec<u64>, Box<dyn Error>> {
        if let Some(orders) = &mut self.orders {
            writeln!(orders, "{order}")?;
        }
        loop {
            if let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                let words = String::from_utf8(line)?;
                return Ok(words.split_whitespace().map(str::parse).collect::<Result<_, _>>()?);
            }
            match self.answers.recv() {
                Ok(piece) => self.heard.extend(piece),
                Err(_) => return Err(self.end().err().unwrap_or_else(|| "it is gone".to_owned()).into()),
            }
        }
    }

    fn end(&mut self) -> Result<(), String> {
        self.orders = None;
        match self.ended.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err("the thread of a client panicked".to_owned()),
            None => Ok(()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Whatever went wrong was an error of the order before.
        let _ended = self.end();
    }
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

fn grant() -> Result<NetworkGrant, Box<dyn Error>> {
    let ports = [80, 443, SMALL, BULK, IDLE];
    let hosts: HostSet =
        ports.iter().map(|port| format!("{NAME}:{port}").parse()).collect::<Result<_, _>>()?;
    let private = Private::parse([NAME])?;
    Ok(NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), private)))
}

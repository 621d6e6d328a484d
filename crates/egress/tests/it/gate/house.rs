//! A gate without a namespace: the addresses of names are on loopback, and so is the far side.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ringfence_egress::{
    Asker, Dialer, Evidence, Gate, Layout, Range, Resolver, Scope, Sockets, StaticResolver, Verdict, Witness,
};
use ringfence_policy::{Limits, NetworkCeiling, NetworkGrant, OnUnknown, Private};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::it::server::set;
use crate::it::wait::{PATIENCE, rest_a_moment};

/// An address of the range that no name is ever given.
pub(crate) const NOBODY: &str = "127.77.9.9";

/// An address outside the range.
pub(crate) const LITERAL: &str = "127.78.0.1";

/// What is spoken on the only port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Http,
    Opaque,
    Tls,
}

/// What the far side does with each connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Habit {
    /// Sends back what it gets, until its end.
    Echo,
    /// Says this at once and hangs up.
    Greets(&'static [u8]),
    /// Says this once it was told something, and goes on listening.
    Replies(&'static [u8]),
    /// Listens, and hangs up at the end.
    Listens,
}

/// The far side, and what it heard.
pub(crate) struct Far {
    pub(crate) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    heard: Arc<Mutex<Vec<u8>>>,
    _task: AbortOnDropHandle<()>,
}

impl Far {
    #[expect(clippy::disallowed_methods, reason = "a test needs someone to talk to")]
    pub(crate) async fn start(at: SocketAddr, habit: Habit) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, heard) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, ear) = (Arc::clone(&accepted), Arc::clone(&heard));
        let task = tokio::spawn(async move {
            loop {
                // A far side that is short of descriptors must outlive the shortage, or the gate is blamed for it.
                let Ok((stream, _)) = listener.accept().await else {
                    sleep(Duration::from_millis(10)).await;
                    continue;
                };
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(behave(stream, habit, Arc::clone(&ear)));
            }
        });
        Self { address, accepted, heard, _task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(crate) fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }
}

async fn behave(mut stream: TcpStream, habit: Habit, ear: Arc<Mutex<Vec<u8>>>) {
    if let Habit::Greets(words) = habit {
        let _said = stream.write_all(words).await;
        return;
    }
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => count,
        };
        ear.lock().unwrap().extend_from_slice(&buffer[..count]);
        let said = match habit {
            Habit::Echo => stream.write_all(&buffer[..count]).await,
            Habit::Replies(words) => stream.write_all(words).await,
            Habit::Greets(_) | Habit::Listens => Ok(()),
        };
        if said.is_err() {
            return;
        }
    }
}

/// Keeps what it is told.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<Evidence>>);

impl Witness for Notes {
    fn saw(&self, evidence: &Evidence) {
        self.0.lock().unwrap().push(evidence.clone());
    }
}

/// What a house is like before its gate opens.
pub(crate) struct Plan {
    pub(crate) allow: Vec<&'static str>,
    pub(crate) private: Vec<&'static str>,
    pub(crate) on_unknown: OnUnknown,
    pub(crate) limits: Limits,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) patience: Duration,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) habit: Habit,
}

impl Default for Plan {
    fn default() -> Self {
        let home = || [Ipv4Addr::LOCALHOST.into()];
        let names = ["one.acme.io", "two.acme.io", "new.acme.io", "deep.wild.io"];
        let resolver = names
            .iter()
            .fold(StaticResolver::new(), |resolver, name| resolver.with(name.parse().unwrap(), home()));
        Self {
            allow: vec!["one.acme.io", "two.acme.io", "*.wild.io"],
            private: vec!["127.0.0.0/8"],
            on_unknown: OnUnknown::Refuse,
            limits: Limits::default(),
            asker: None,
            patience: PATIENCE,
            resolver: Arc::new(resolver),
            habit: Habit::Echo,
        }
    }
}

impl Plan {
    pub(crate) fn grant(&self) -> NetworkGrant {
        let private = Private::parse(self.private.iter().copied()).unwrap();
        let ceiling = NetworkCeiling::new(set(&self.allow), private).with_on_unknown(self.on_unknown);
        NetworkGrant::meet(&set(&["*"]), &ceiling)
    }
}

/// A gate, the far side behind it, and who is told.
pub(crate) struct House {
    pub(crate) scope: Scope,
    pub(crate) far: Far,
    pub(crate) port: u16,
    pub(crate) dns: SocketAddr,
    notes: Arc<Notes>,
    gate: Option<Gate>,
}

impl House {
    pub(crate) async fn open(kind: Kind, plan: Plan) -> Self {
        loop {
            let far = Far::start((Ipv4Addr::LOCALHOST, 0).into(), plan.habit).await;
            // Another test may have the same port on one of the addresses.
            if let Ok((dns, sockets)) = sockets(far.address.port()) {
                return Self::with(kind, plan, far, dns, sockets);
            }
        }
    }

    fn with(kind: Kind, plan: Plan, far: Far, dns: SocketAddr, sockets: Sockets) -> Self {
        let port = far.address.port();
        let notes = Arc::new(Notes::default());
        let mut scope = Scope::builder(plan.grant())
            .limits(plan.limits)
            .patience(plan.patience)
            .witness(Arc::clone(&notes) as Arc<dyn Witness>);
        if let Some(asker) = plan.asker {
            scope = scope.asker(asker);
        }
        let scope = scope.build();
        let layout = Layout {
            range: Range::new(Ipv4Addr::new(127, 77, 0, 0), 16),
            dns,
            http: if kind == Kind::Http { port } else { 1 },
            tls: if kind == Kind::Tls { port } else { 2 },
        };
        let gate =
            Gate::open_with(&Handle::current(), layout, scope.clone(), Dialer::new(plan.resolver), sockets);
        Self { scope, far, port, dns, notes, gate: Some(gate.unwrap()) }
    }

    /// Asks for a name and connects to the address that stands for it.
    pub(crate) async fn connect(&self, name: &str) -> TcpStream {
        let Answer::Address(address) = self.ask(name, 1).await else { panic!("{name} has no address") };
        self.connect_to(&address.to_string()).await
    }

    pub(crate) async fn connect_to(&self, ip: &str) -> TcpStream {
        TcpStream::connect((ip, self.port)).await.unwrap()
    }

    /// Asks the gate's name server, by datagram.
    pub(crate) async fn ask(&self, name: &str, kind: u16) -> Answer {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(&question(name, kind), self.dns).await.unwrap();
        let mut buffer = [0; 512];
        let answer = timeout(PATIENCE, socket.recv_from(&mut buffer)).await;
        let (count, _) = answer.expect("an answer").unwrap();
        Answer::read(&buffer[..count])
    }

    /// Waits until so much has been told, and returns it.
    pub(crate) async fn told(&self, count: usize) -> Vec<Evidence> {
        let told = || self.notes.0.lock().unwrap().clone();
        let end = Instant::now() + PATIENCE;
        while told().len() < count {
            assert!(Instant::now() < end, "{count} are expected: {:#?}", told());
            rest_a_moment(Duration::from_millis(5)).await;
        }
        // Whatever is told beyond the expected comes now.
        rest_a_moment(Duration::from_millis(20)).await;
        let told = self.notes.0.lock().unwrap().clone();
        assert_eq!(told.len(), count, "{told:#?}");
        told
    }

    /// Waits for the only evidence and returns its verdict.
    pub(crate) async fn verdict(&self) -> Verdict {
        self.told(1).await.remove(0).verdict
    }

    /// Closes the gate and returns everything that was told.
    pub(crate) async fn close(&mut self) -> Vec<Evidence> {
        self.gate.take().unwrap().close().await;
        self.notes.0.lock().unwrap().clone()
    }

    /// Drops the gate.
    pub(crate) fn drop_gate(&mut self) {
        drop(self.gate.take());
    }
}

/// Makes the sockets that a sandbox would hand out.
#[expect(clippy::disallowed_methods, reason = "a test needs someone to talk to")]
pub(crate) fn sockets(port: u16) -> io::Result<(SocketAddr, Sockets)> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
    let dns = socket.local_addr()?;
    let names = (2..=5).map(|last| format!("127.77.0.{last}"));
    let places = names.chain([NOBODY.to_owned(), LITERAL.to_owned()]).map(|ip| format!("{ip}:{port}"));
    let listeners = places.chain([dns.to_string()]);
    let listeners = listeners.map(|place| std::net::TcpListener::bind(place).map(OwnedFd::from));
    Ok((dns, Sockets { listeners: listeners.collect::<io::Result<_>>()?, dns: socket.into() }))
}

/// What a name server says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Answer {
    Address(Ipv4Addr),
    Empty,
    Error(u8),
}

impl Answer {
    pub(crate) fn read(message: &[u8]) -> Self {
        assert_eq!(message[..2], [0xab, 0xcd]);
        match (message[3] & 0x0f, message[7]) {
            (0, 0) => Self::Empty,
            (0, 1) => {
                let last: [u8; 4] = message[message.len() - 4..].try_into().unwrap();
                Self::Address(last.into())
            }
            (code, _) => Self::Error(code),
        }
    }
}

/// Writes a query for one name.
pub(crate) fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).unwrap());
        message.extend_from_slice(label.as_bytes());
    }
    message.extend_from_slice(&[0, kind.to_be_bytes()[0], kind.to_be_bytes()[1], 0, 1]);
    message
}

/// Reads until the other side ends or breaks off, and says which.
pub(crate) async fn rest(stream: &mut TcpStream) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an end");
    (bytes, read.is_ok())
}

/// Says something, and returns exactly as much as is said back.
pub(crate) async fn echo(stream: &mut TcpStream, words: &[u8]) -> Vec<u8> {
    stream.write_all(words).await.unwrap();
    let mut back = vec![0; words.len()];
    timeout(PATIENCE, stream.read_exact(&mut back)).await.expect("an echo").unwrap();
    back
}

/// Tells the code of a refusal.
pub(crate) fn code(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Refused { code, .. } => code.as_str(),
        Verdict::Cut { .. } => "cut",
        Verdict::Done => "done",
        Verdict::Failed { .. } => "failed",
    }
}

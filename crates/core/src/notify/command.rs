//! Telling a program, which runs in the sandbox like a tool.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use ringfence_egress::Scope;
use ringfence_policy::{
    Assurance, BinarySet, Capabilities, Grant, Limits, Network, NetworkCeiling, Personality, Process,
    resolve_capabilities,
};

use super::Channel;
use crate::port::{FiledRequest, Launch, Launcher};

/// How long the program may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a program for each request, with the request as JSON on its standard input.
///
/// The program reaches the hosts it is given and nothing else: no files, no variables.
pub struct CommandChannel {
    name: String,
    program: String,
    arguments: Vec<String>,
    grant: Arc<Grant>,
    launcher: Arc<dyn Launcher>,
}

impl CommandChannel {
    /// Starts `command`, whose first word is the program, and lets it reach the hosts of `network`.
    ///
    /// # Errors
    ///
    /// The command is empty or its program cannot be one, in a sentence.
    pub fn new(
        command: &[String],
        network: NetworkCeiling,
        launcher: Arc<dyn Launcher>,
    ) -> Result<Self, String> {
        let [program, arguments @ ..] = command else {
            return Err("the command of a notification is empty".to_owned());
        };
        let binaries = || BinarySet::new([program]).map_err(|error| error.to_string());
        let hosts = network.hosts().clone();
        let capabilities = Capabilities {
            process: Some(Process { allowed_binaries: binaries()? }),
            network: (!hosts.is_empty()).then_some(Network { allowed_hosts: hosts }),
            ..Capabilities::default()
        };
        let personality = Personality { process: Some(binaries()?), network, ..Personality::default() };
        let grant =
            resolve_capabilities(&capabilities, &personality).map_err(|refusal| refusal.to_string())?;
        Ok(Self {
            name: format!("command {}", command.join(" ")),
            program: program.clone(),
            arguments: arguments.to_vec(),
            grant: Arc::new(grant),
            launcher,
        })
    }

    async fn start(&self, body: &str) -> Result<(), String> {
        let launch = Launch {
            image: None,
            assurance: Assurance::Claimed,
            binary: self.program.clone(),
            arguments: self.arguments.clone(),
            cwd: None,
            environment: BTreeMap::new(),
            timeout: Some(PATIENCE),
            stdin: body.as_bytes().to_vec(),
            limits: Limits::default(),
            grant: Arc::clone(&self.grant),
            network: self.grant.network.clone().map(Scope::new),
        };
        let output = self.launcher.launch(launch).await.map_err(|error| error.to_string())?;
        if output.exit_code == 0 {
            return Ok(());
        }
        let said: String = output.stderr.chars().take(200).collect();
        Err(format!("`{}` ended with {}: {}", self.program, output.exit_code, said.trim_end()))
    }
}

impl Channel for CommandChannel {
    fn name(&self) -> &str {
        &self.name
    }

    fn tell<'a>(&'a self, _filed: &'a FiledRequest, body: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.start(body).boxed()
    }
}

impl std::fmt::Debug for CommandChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

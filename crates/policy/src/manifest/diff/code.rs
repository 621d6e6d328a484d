//! The codes of changes between manifests, one table.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($variant:ident $code:literal $meaning:literal)*) => {
        /// What kind of change it is. A code keeps its spelling and its meaning.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum ChangeCode {
            $(#[doc = concat!("`", $code, "`: ", $meaning, ".")] $variant,)*
        }

        impl ChangeCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            /// Every code with its meaning, as a report wants them.
            pub const RULES: &[(&str, &str)] = &[$(($code, $meaning),)*];

            /// Returns the code as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns what it means.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    ManifestHashMismatch "manifest.hash.mismatch" "a manifest was edited: a stored hash is not that of its content"
    ManifestVersionChanged "manifest.version.changed" "a manifest has a version that this program does not know"
    ToolAdded "tool.added" "a tool or a server is new, or is permitted now"
    ToolRemoved "tool.removed" "a tool or a server is gone, or is no longer permitted"
    ToolRenamed "tool.renamed" "a tool has another name and is otherwise the same"
    ToolRiskIncreased "tool.risk.increased" "its author thinks that it can do more damage"
    ToolRiskDecreased "tool.risk.decreased" "its author thinks that it can do less damage"
    ToolClassRaised "tool.class.raised" "its safety class is graver"
    ToolClassLowered "tool.class.lowered" "its safety class is less grave, so that fewer people are asked"
    ToolExecWidened "tool.exec.widened" "it starts more programs"
    ToolExecNarrowed "tool.exec.narrowed" "it starts fewer programs"
    ToolNetworkWidened "tool.network.widened" "it reaches more hosts, ports or private addresses"
    ToolNetworkNarrowed "tool.network.narrowed" "it reaches fewer hosts, ports or private addresses"
    ToolFilesystemReadWidened "tool.filesystem.read.widened" "it reads more paths"
    ToolFilesystemReadNarrowed "tool.filesystem.read.narrowed" "it reads fewer paths"
    ToolFilesystemWriteWidened "tool.filesystem.write.widened" "it writes more paths"
    ToolFilesystemWriteNarrowed "tool.filesystem.write.narrowed" "it writes fewer paths"
    ToolEnvironmentWidened "tool.environment.widened" "it reads more environment variables"
    ToolEnvironmentNarrowed "tool.environment.narrowed" "it reads fewer environment variables"
    ToolSecretsWidened "tool.secrets.widened" "it reads more secrets, or gets one under another name"
    ToolSecretsNarrowed "tool.secrets.narrowed" "it reads fewer secrets"
    ToolSocketsWidened "tool.sockets.widened" "it may open Unix sockets, which reach what a granted path holds"
    ToolSocketsNarrowed "tool.sockets.narrowed" "it may no longer open Unix sockets"
    ToolClientWidened "tool.client.widened" "a server may use the client's model, or ask the person at the client"
    ToolClientNarrowed "tool.client.narrowed" "a server may no longer use the client's model, or ask the person at the client"
    ToolStorageWidened "tool.storage.widened" "its storage is shared with more, or kept longer"
    ToolStorageNarrowed "tool.storage.narrowed" "its storage is shared with fewer, or kept shorter"
    ToolApprovalWeakened "tool.approval.weakened" "fewer people must agree before it runs"
    ToolApprovalStrengthened "tool.approval.strengthened" "more people must agree before it runs"
    ToolConstraintRelaxed "tool.constraint.relaxed" "it may run more often, or without what had to come before"
    ToolConstraintTightened "tool.constraint.tightened" "it may run less often, or only after something else"
    ToolLimitsRaised "tool.limits.raised" "a call may spend more"
    ToolLimitsLowered "tool.limits.lowered" "a call may spend less"
    ToolSandboxWeakened "tool.sandbox.weakened" "weaker confinement is accepted"
    ToolSandboxStrengthened "tool.sandbox.strengthened" "stronger confinement is demanded"
    ToolSchemaLoosened "tool.schema.loosened" "a schema is not provably equal or tighter: it may admit more"
    ToolSchemaTightened "tool.schema.tightened" "a schema provably admits less"
    ToolDescriptionChanged "tool.description.changed" "what the model is told has changed"
    ToolIdempotencyDropped "tool.idempotency.dropped" "a call that comes again is recognised less surely"
    ToolIdempotencyAdded "tool.idempotency.added" "a call that comes again is recognised more surely"
    ToolCommandChanged "tool.command.changed" "another program, or the same with other arguments, runs"
    ToolEffectsChanged "tool.effects.changed" "its code was seen to do something else"
    ToolLintDropped "tool.lint.dropped" "what its code does is no longer known"
    PersonalityIdChanged "personality.id.changed" "the personality has another name, and with it other storage"
    PersonalityApprovalsWidened "personality.approvals.widened" "the personality asks fewer people, or waits longer for them"
    PersonalityApprovalsNarrowed "personality.approvals.narrowed" "the personality asks more people, or waits shorter for them"
    PersonalityEnvironmentWidened "personality.environment.widened" "the personality permits more environment variables"
    PersonalityEnvironmentNarrowed "personality.environment.narrowed" "the personality permits fewer environment variables"
    PersonalityExecWidened "personality.exec.widened" "the personality permits more programs"
    PersonalityExecNarrowed "personality.exec.narrowed" "the personality permits fewer programs"
    PersonalityFilesystemReadWidened "personality.filesystem.read.widened" "the personality permits more paths to be read"
    PersonalityFilesystemReadNarrowed "personality.filesystem.read.narrowed" "the personality permits fewer paths to be read"
    PersonalityFilesystemWriteWidened "personality.filesystem.write.widened" "the personality permits more paths to be written"
    PersonalityFilesystemWriteNarrowed "personality.filesystem.write.narrowed" "the personality permits fewer paths to be written"
    PersonalityLimitsWidened "personality.limits.widened" "the personality lets a call spend more"
    PersonalityLimitsNarrowed "personality.limits.narrowed" "the personality lets a call spend less"
    PersonalityNetworkWidened "personality.network.widened" "the personality permits more hosts, ports or private addresses"
    PersonalityNetworkNarrowed "personality.network.narrowed" "the personality permits fewer hosts, ports or private addresses"
    PersonalitySecretsWidened "personality.secrets.widened" "the personality permits more secrets"
    PersonalitySecretsNarrowed "personality.secrets.narrowed" "the personality permits fewer secrets"
    PersonalitySocketsWidened "personality.sockets.widened" "the personality no longer keeps servers from opening Unix sockets"
    PersonalitySocketsNarrowed "personality.sockets.narrowed" "the personality keeps servers from opening Unix sockets"
    PersonalityToolsWidened "personality.tools.widened" "the personality permits more tools"
    PersonalityToolsNarrowed "personality.tools.narrowed" "the personality permits fewer tools"
    AgentAdded "agent.added" "an agent is new"
    AgentRemoved "agent.removed" "an agent is gone"
    AgentScopeWidened "agent.scope.widened" "an agent may use more servers or tools"
    AgentScopeNarrowed "agent.scope.narrowed" "an agent may use fewer servers or tools"
    AgentApprovalWeakened "agent.approval.weakened" "whoever holds the token of an agent may agree to calls now"
    AgentApprovalStrengthened "agent.approval.strengthened" "whoever holds the token of an agent may no longer agree to calls"
    AgentTokenChanged "agent.token.changed" "an agent has another token, so that somebody else may hold it"
    NotifyAdded "notify.added" "another program or server is told when a call waits for people"
    NotifyRemoved "notify.removed" "a program or server is no longer told when a call waits for people"
    NotifyWidened "notify.widened" "what is told when a call waits for people reaches more hosts, ports or private addresses"
    NotifyNarrowed "notify.narrowed" "what is told when a call waits for people reaches fewer hosts, ports or private addresses"
    NotifyChanged "notify.changed" "what is told when a call waits for people is signed with another secret"
    GatewayWidened "gateway.widened" "the gateway listens on a wider address, answers to more names, goes without TLS, or tells agents more"
    GatewayNarrowed "gateway.narrowed" "the gateway listens on a narrower address, answers to fewer names, speaks TLS, or tells agents less"
    GatewayChanged "gateway.changed" "the gateway listens on another port"
    ConsoleWidened "console.widened" "the console is switched on, listens on a wider address, answers to more names, or goes without TLS"
    ConsoleNarrowed "console.narrowed" "the console is switched off, listens on a narrower address, answers to fewer names, or speaks TLS"
    ConsoleChanged "console.changed" "the console listens on another port, or believes another key"
    DepCapabilityGained "dep.capability.gained" "a dependency does something it did not do, or a new one does something"
    DepCapabilityLost "dep.capability.lost" "a dependency no longer does something, or is gone"
}

impl fmt::Display for ChangeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ChangeCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

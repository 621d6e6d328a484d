//! What is said of changes between manifests.

use super::Text;
use crate::manifest::diff::ChangeCode;

const VERIFY: &str = "the manifest that somebody accepted, beside the toolbox as it is now; `ringfence manifest verify` shows how they differ";
const ACCEPT: &str = "read the change with `ringfence manifest verify`; then take it back in the toolbox, or have somebody run `ringfence manifest accept`";
const LET_BE: &str =
    "nothing has to be done: `ringfence manifest accept` makes the accepted manifest say so too";

/// Returns what is said beside the meaning.
pub(super) const fn text(code: ChangeCode) -> Text {
    use ChangeCode as C;
    let (change, also) = match code {
        C::ManifestHashMismatch => (
            "do not accept it: restore the file from version control, and find out who edited it",
            "whoever edits a manifest by hand could accept anything in somebody else's name",
        ),
        C::ManifestVersionChanged => (
            "use the version of ringfence that wrote it, or write it anew with `ringfence manifest write`",
            "a manifest that is written anew accepts the toolbox as it is now",
        ),
        C::ToolAdded => (ACCEPT, "a new tool may do all that its entry declares, within the personality"),
        C::ToolExecWidened | C::PersonalityExecWidened => {
            (ACCEPT, "accepting lets those programs be started, in the sandbox")
        }
        C::ToolNetworkWidened | C::PersonalityNetworkWidened => {
            (ACCEPT, "accepting lets anything that the tool can read be sent to those hosts")
        }
        C::ToolFilesystemReadWidened | C::PersonalityFilesystemReadWidened => {
            (ACCEPT, "accepting lets everything below those paths be read, now and later")
        }
        C::ToolFilesystemWriteWidened | C::PersonalityFilesystemWriteWidened => {
            (ACCEPT, "accepting lets everything below those paths be changed or removed")
        }
        C::ToolEnvironmentWidened | C::PersonalityEnvironmentWidened => (
            ACCEPT,
            "accepting lets the values of those variables be read, and sent wherever the tool may send",
        ),
        C::ToolSecretsWidened | C::PersonalitySecretsWidened => (
            ACCEPT,
            "accepting lets the values of those secrets be read, and sent wherever the tool may send",
        ),
        C::ToolSocketsWidened | C::PersonalitySocketsWidened => {
            (ACCEPT, "accepting lets its process talk to programs whose sockets lie below granted paths")
        }
        C::ToolClientWidened => {
            (ACCEPT, "accepting lets the server use the client's model, or put questions to its person")
        }
        C::ToolStorageWidened => {
            (ACCEPT, "accepting lets others read what the tool keeps, or keeps it longer")
        }
        C::ToolApprovalWeakened | C::PersonalityApprovalsWidened | C::AgentApprovalWeakened => {
            (ACCEPT, "accepting lets such calls run with fewer people asked")
        }
        C::ToolConstraintRelaxed => {
            (ACCEPT, "accepting lets the tool run more often, or earlier, in one run")
        }
        C::ToolLimitsRaised | C::PersonalityLimitsWidened => {
            (ACCEPT, "accepting lets one call spend more of this machine")
        }
        C::ToolSandboxWeakened => (ACCEPT, "accepting believes a fence that nobody has seen to hold"),
        C::ToolSchemaLoosened => (ACCEPT, "accepting lets arguments or outputs pass that did not fit before"),
        C::ToolDescriptionChanged => {
            (ACCEPT, "accepting shows models the new text; read it as if it were a prompt")
        }
        C::ToolIdempotencyDropped => (ACCEPT, "accepting lets a call that comes twice take effect twice"),
        C::ToolCommandChanged => {
            (ACCEPT, "accepting lets that program run with those arguments, within what the tool declares")
        }
        C::ToolEffectsChanged | C::ToolLintDropped | C::DepCapabilityGained => {
            (ACCEPT, "accepting believes the code to do that, and no more; `ringfence lint` shows where")
        }
        C::ToolClassLowered => (ACCEPT, "accepting lets its calls take the route of a less grave class"),
        C::ToolRenamed => (ACCEPT, "rules that name the tool by its old name no longer hold for it"),
        C::ToolRiskIncreased | C::ToolRiskDecreased => {
            (ACCEPT, "nothing: the risk is what its author thinks, for whoever reviews it")
        }
        C::PersonalityIdChanged => (ACCEPT, "tools with storage of the personality start with other storage"),
        C::PersonalityToolsWidened => (ACCEPT, "accepting lets agents call those tools"),
        C::AgentAdded | C::AgentScopeWidened | C::AgentTokenChanged => {
            (ACCEPT, "accepting lets whoever holds that token call what the agent may call")
        }
        C::NotifyAdded | C::NotifyWidened | C::NotifyChanged => {
            (ACCEPT, "accepting lets what calls are about be told to that program or server")
        }
        C::GatewayWidened | C::GatewayChanged => {
            (ACCEPT, "accepting lets more of the network knock at the gateway")
        }
        C::ConsoleWidened | C::ConsoleChanged => {
            (ACCEPT, "accepting lets more of the network knock at the console")
        }
        C::ToolRemoved
        | C::ToolClassRaised
        | C::ToolExecNarrowed
        | C::ToolNetworkNarrowed
        | C::ToolFilesystemReadNarrowed
        | C::ToolFilesystemWriteNarrowed
        | C::ToolEnvironmentNarrowed
        | C::ToolSecretsNarrowed
        | C::ToolSocketsNarrowed
        | C::ToolClientNarrowed
        | C::ToolStorageNarrowed
        | C::ToolApprovalStrengthened
        | C::ToolConstraintTightened
        | C::ToolLimitsLowered
        | C::ToolSandboxStrengthened
        | C::ToolSchemaTightened
        | C::ToolIdempotencyAdded
        | C::PersonalityApprovalsNarrowed
        | C::PersonalityEnvironmentNarrowed
        | C::PersonalityExecNarrowed
        | C::PersonalityFilesystemReadNarrowed
        | C::PersonalityFilesystemWriteNarrowed
        | C::PersonalityLimitsNarrowed
        | C::PersonalityNetworkNarrowed
        | C::PersonalitySecretsNarrowed
        | C::PersonalitySocketsNarrowed
        | C::PersonalityToolsNarrowed
        | C::AgentRemoved
        | C::AgentScopeNarrowed
        | C::AgentApprovalStrengthened
        | C::NotifyRemoved
        | C::NotifyNarrowed
        | C::GatewayNarrowed
        | C::ConsoleNarrowed
        | C::DepCapabilityLost => (LET_BE, "nothing: the toolbox does less than what was accepted"),
    };
    Text { decided: VERIFY, change, also }
}

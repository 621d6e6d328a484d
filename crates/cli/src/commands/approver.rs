//! `ringfence approver`

use std::io::Write;

use ringfence::{ApproverName, ApproverToken, Role};
use ringfence_store::KeepRaw;
use serde_json::json;

use crate::error::{CommandError, Exit};
use crate::store::{Opening, StoreArgs, runtime};
use crate::table::table;
use crate::time::Moment;

/// Say who may approve calls
///
/// An approver is a name and a token. The store keeps only a hash of the token.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ringfence approver add ada > ada.token
  ringfence approver list")]
pub(crate) struct ApproverArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(subcommand)]
    command: ApproverCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ApproverCommand {
    /// Add somebody, and print their token once
    #[command(after_help = "Examples:
  ringfence approver add ada > ada.token
  ringfence approver add grace --role viewer > grace.token")]
    Add {
        /// The name: 1 to 64 of a-z, 0-9, `.`, `_`, `-`, `+` and `@`
        name: ApproverName,
        /// What they may do: `viewer` looks, `approver` also decides, `admin` also accepts what has changed
        #[arg(long, default_value_t = Role::Approver)]
        role: Role,
    },
    /// List everybody, revoked ones too
    #[command(after_help = "Examples:
  ringfence approver list
  ringfence approver list --json")]
    List {
        /// Print one JSON object for each: {"name", "role", "added", "revoked"}
        #[arg(long)]
        json: bool,
    },
    /// Revoke somebody's token; what they agreed to and nobody has used yet no longer counts
    #[command(after_help = "Examples:
  ringfence approver revoke ada")]
    Revoke {
        /// The name
        name: ApproverName,
    },
}

pub(crate) fn run(args: &ApproverArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let store = args.store.name();
    runtime()?.block_on(async {
        match &args.command {
            ApproverCommand::Add { name, role } => {
                let token = ApproverToken::generate()
                    .map_err(|why| CommandError::Start(std::io::Error::other(why)))?;
                let store = store.open(Opening::Make(KeepRaw::Always)).await?;
                store.add_approver(name, token.hash(), *role).await?;
                writeln!(out, "{}", token.expose())?;
                let _told = writeln!(
                    crate::print::errors(),
                    "`{name}` may {} in {}. This token proves it is them; it is not shown again.",
                    may(*role),
                    store.describe()
                );
            }
            ApproverCommand::List { json } => {
                let people = store.open(Opening::Read).await?.approvers().await?;
                if *json {
                    for one in &people {
                        let told = json!({
                            "name": one.name.to_string(), "role": one.role.to_string(),
                            "added": Moment::from(one.added).to_string(),
                            "revoked": one.revoked.map(|at| Moment::from(at).to_string()),
                        });
                        writeln!(out, "{told}")?;
                    }
                    return Ok(Exit::Done);
                }
                if people.is_empty() {
                    let _told = writeln!(crate::print::errors(), "nobody may approve calls");
                    return Ok(Exit::Done);
                }
                let rows: Vec<[String; 4]> = people
                    .iter()
                    .map(|one| {
                        let revoked = one.revoked.map(|at| Moment::from(at).to_string());
                        [
                            one.name.to_string(),
                            one.role.to_string(),
                            Moment::from(one.added).to_string(),
                            revoked.unwrap_or_default(),
                        ]
                    })
                    .collect();
                write!(out, "{}", table(["APPROVER", "ROLE", "ADDED", "REVOKED"], &rows))?;
            }
            ApproverCommand::Revoke { name } => {
                if !store.open(Opening::Change).await?.revoke_approver(name).await? {
                    return Err(CommandError::Input {
                        message: format!("there is no approver named `{name}`"),
                        hint: Some("`ringfence approver list` shows everybody"),
                    });
                }
                writeln!(out, "revoked: {name}")?;
            }
        }
        Ok(Exit::Done)
    })
}

/// Says what somebody may do.
const fn may(role: Role) -> &'static str {
    match role {
        Role::Viewer => "look at calls",
        Role::Approver => "approve calls",
        Role::Admin => "approve calls and accept changes",
    }
}

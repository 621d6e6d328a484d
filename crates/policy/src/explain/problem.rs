//! The codes of what `ringfence check` tells: why a toolbox does not load, or a tool does not register.

use super::Text;
use crate::Table;

macro_rules! problems {
    ($($variant:ident $code:literal $meaning:literal $change:literal $also:literal)*) => {
        /// What kind of problem a toolbox has. A code keeps its spelling and its meaning.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum ProblemCode {
            $(#[doc = concat!("`", $code, "`: ", $meaning, ".")] $variant,)*
        }

        impl ProblemCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the code as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns what it means.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            pub(super) const fn text(self) -> Text {
                const DECIDED: &str = "what is written in the toolbox file; `ringfence check` names file, line and column";
                match self { $(Self::$variant => Text { decided: DECIDED, change: $change, also: $also },)* }
            }
        }
    };
}

problems! {
    Agent "check.agent" "an entry of an agent is wrong"
        "correct the field that the line names" "an agent may use what its entry lists, and nothing else"
    Approvals "check.approvals" "the approvals name a tool that is not there"
        "correct the name, or drop the line" "nothing: a route for a tool that is not there decides nothing"
    Assurance "check.assurance" "a tool asks for a sandbox that was tried, and what runs it cannot be tried"
        "run it as a command of this machine, or drop `assurance`" "without `assurance`, what a container engine claims to enforce is believed"
    Builtin "check.builtin" "a builtin needs a surface that its tool does not declare"
        "declare the surface that the line names" "what that surface lists, within the personality"
    Capabilities "check.capabilities" "a tool does not declare what it touches"
        "declare its capabilities; `{}` for a tool that touches nothing" "exactly what is declared, within the personality"
    Class "check.class" "a tool's safety class is lower than its capabilities imply"
        "set the class that the line names, or leave it out" "nothing: a graver class asks more people"
    Command "check.command" "a tool's command cannot be used as it is written"
        "correct the command, or declare the program and the placeholders it uses" "the program that is declared, in the sandbox"
    Console "check.console" "the entry of the console is wrong"
        "correct the field that the line names" "whoever has a session at the console sees the audit and answers requests"
    Description "check.description" "what a tool says of itself looks as if it spoke to the model against its user"
        "reword it; or look at it with `ringfence scan` and accept it with `ringfence pins accept TOOL`" "an accepted definition is shown to models as it is"
    Environment "check.environment" "a tool asks for environment variables that the personality does not permit"
        "add the variable to the personality's `environment`, or drop it from the tool" "every tool that declares the variable may read it"
    Example "check.example" "an example of the personality comes out otherwise than it says"
        "correct the rule that the example is about, or the example" "what the rule admits; the example itself admits nothing"
    FsReach "check.fs_reach" "a tool asks for paths that the personality does not permit"
        "add the path to the personality's `fs_reach`, or drop it from the tool" "the path and everything below it, for every tool that declares it or defers to the personality"
    Gateway "check.gateway" "the entry of the gateway is wrong"
        "correct the field that the line names" "agents with a token connect to the address that the gateway listens on"
    Network "check.network" "a tool asks for hosts that the personality does not permit"
        "add the host to the personality's `network.allow`, or drop it from the tool" "the host, on the ports that the pattern names, for every tool that declares it or `*`"
    Process "check.process" "a tool asks for programs that the personality does not permit, or starts one it does not declare"
        "add the program to the personality's `process.allow` and to the tool's `allowedBinaries`" "every tool that declares the program may start it, in the sandbox"
    Schema "check.schema" "a tool's input or output schema cannot be used"
        "correct the schema" "arguments and outputs that fit the schema"
    Secrets "check.secrets" "a tool asks for secrets that the personality does not permit"
        "add the ref to the personality's `secrets`, or drop it from the tool" "every tool that declares the ref may read that secret"
    Server "check.server" "an entry of an MCP server is wrong, or asks for more than the personality permits"
        "correct the field that the line names" "all tools of the server share its capabilities"
    Syntax "check.syntax" "the toolbox cannot be read"
        "correct the place that the line names" "nothing: a toolbox that cannot be read permits nothing"
    Tool "check.tool" "an entry of a tool is wrong"
        "correct the field that the line names" "what the entry declares, within the personality"
    Toolset "check.toolset" "the toolset names a tool that is not there"
        "correct the name in the personality's `tools`, or drop it" "nothing: a name without a tool permits nothing"
}

impl ProblemCode {
    /// Returns the code of a problem with a field: of an entry of `table`, or of a tool where there is none.
    pub fn of_field(table: Option<Table>, field: &str) -> Self {
        match table {
            Some(Table::Agent) => return Self::Agent,
            Some(Table::Console) => return Self::Console,
            Some(Table::Gateway) => return Self::Gateway,
            Some(Table::Server) => return Self::Server,
            None => {}
        }
        match field.split('.').next().unwrap_or_default() {
            "assurance" => Self::Assurance,
            "builtin" => Self::Builtin,
            "capabilities" => Self::Capabilities,
            "class" => Self::Class,
            "command" | "image" => Self::Command,
            "environment" => Self::Environment,
            "fs_reach" => Self::FsReach,
            "input" | "output" => Self::Schema,
            "network" => Self::Network,
            "process" => Self::Process,
            "secrets" => Self::Secrets,
            _ => Self::Tool,
        }
    }
}

impl std::fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for ProblemCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_code_of_its_surface() {
        #[rustfmt::skip]
        let cases = [
            (None,                "network",        "check.network"),
            (None,                "fs_reach.write", "check.fs_reach"),
            (None,                "input",          "check.schema"),
            (None,                "name",           "check.tool"),
            (Some(Table::Server), "network",        "check.server"),
            (Some(Table::Agent),  "tools",          "check.agent"),
        ];
        for (table, field, code) in cases {
            assert_eq!(ProblemCode::of_field(table, field).as_str(), code, "{table:?} {field}");
        }
    }
}

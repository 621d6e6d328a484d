//! The command of a process tool: an argument vector with places for values.
//!
//! `{name}` is the value of an argument, `{{` and `}}` are literal braces. No shell is involved, so a value can
//! never become a second argument; and it never becomes a flag, because a value that begins with `-` is refused
//! unless a literal `--` or a literal prefix stands before it.

use serde_json::{Map, Value};

use crate::{Code, Refusal};

/// A parsed command.
///
/// # Examples
///
/// ```
/// use ringfence_policy::CommandTemplate;
///
/// let command = CommandTemplate::parse(&["rg", "{pattern}", "/srv"])?;
/// let hostile = serde_json::json!({"pattern": "--pre=sh"});
/// let refusal = command.render(hostile.as_object().unwrap()).unwrap_err();
/// assert!(refusal.message.contains("would be read as a flag"));
/// # Ok::<(), ringfence_policy::CommandError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommandTemplate {
    program: String,
    arguments: Vec<Vec<Piece>>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Literal(String),
    Value(String),
}

/// A command that cannot be a template.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CommandError {
    /// There is no program.
    #[error("the command is empty")]
    Empty,
    /// The program is not fixed.
    #[error("the program `{0}` must be written out: a value may not choose what is started")]
    ProgramFromValue(String),
    /// Braces do not match.
    #[error("argument `{0}` has a brace that is not closed or not doubled")]
    Brace(String),
    /// A NUL byte cannot be passed to a program.
    #[error("the command contains a NUL character")]
    Nul,
}

impl CommandTemplate {
    /// Parses a program and its arguments.
    ///
    /// # Errors
    ///
    /// The first argument that is not a template.
    pub fn parse(command: &[impl AsRef<str>]) -> Result<Self, CommandError> {
        let (program, arguments) = command.split_first().ok_or(CommandError::Empty)?;
        let program = match pieces(program.as_ref())?.as_slice() {
            [Piece::Literal(program)] if !program.is_empty() => program.clone(),
            [] | [Piece::Literal(_)] => return Err(CommandError::Empty),
            _ => return Err(CommandError::ProgramFromValue(program.as_ref().to_owned())),
        };
        let arguments =
            arguments.iter().map(|argument| pieces(argument.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { program, arguments })
    }

    /// Returns the program.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Goes through the names of the values it uses.
    pub fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().flatten().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Value(name) => Some(name.as_str()),
        })
    }

    /// Puts the values of `arguments` in their places and returns the arguments after the program.
    ///
    /// An element that names an absent value is left out, so that optional flags need no syntax of their own.
    ///
    /// # Errors
    ///
    /// `INPUT_INVALID` for a value that is not a string, number or boolean, holds a NUL, or would be a flag.
    pub fn render(&self, arguments: &Map<String, Value>) -> Result<Vec<String>, Refusal> {
        let mut rendered = Vec::with_capacity(self.arguments.len());
        let mut after_double_dash = false;
        for element in &self.arguments {
            if let Some(argument) = render_element(element, arguments, after_double_dash)? {
                rendered.push(argument);
            }
            after_double_dash |= matches!(element.as_slice(), [Piece::Literal(text)] if text == "--");
        }
        Ok(rendered)
    }
}

fn render_element(
    element: &[Piece],
    arguments: &Map<String, Value>,
    after_double_dash: bool,
) -> Result<Option<String>, Refusal> {
    let mut text = String::new();
    let mut from_value = None;
    for piece in element {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Value(name) => {
                let Some(value) = arguments.get(name) else { return Ok(None) };
                if text.is_empty() {
                    from_value = Some(name);
                }
                text.push_str(&scalar(name, value)?);
            }
        }
    }
    if let Some(name) = from_value
        && !after_double_dash
        && text.starts_with('-')
    {
        return Err(invalid(format!("value of `{name}` begins with `-` and would be read as a flag"))
            .hint("put \"--\" before the placeholder in the tool's command"));
    }
    Ok(Some(text))
}

fn scalar(name: &str, value: &Value) -> Result<String, Refusal> {
    match value {
        Value::String(text) if text.contains('\0') => {
            Err(invalid(format!("value of `{name}` contains a NUL character")))
        }
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Array(_) | Value::Null | Value::Object(_) => {
            Err(invalid(format!("value of `{name}` is not a string, number or boolean")))
        }
    }
}

fn invalid(message: String) -> Refusal {
    Refusal::new(Code::InputInvalid, message)
}

fn pieces(text: &str) -> Result<Vec<Piece>, CommandError> {
    if text.contains('\0') {
        return Err(CommandError::Nul);
    }
    let brace = || CommandError::Brace(text.to_owned());
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '{' | '}' if rest.peek() == Some(&character) => {
                rest.next();
                literal.push(character);
            }
            '{' => {
                let mut name = String::new();
                loop {
                    match rest.next() {
                        Some('}') if !name.is_empty() => break,
                        Some(character)
                            if character.is_alphanumeric() || matches!(character, '_' | '-' | '.') =>
                        {
                            name.push(character);
                        }
                        _ => return Err(brace()),
                    }
                }
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Value(name));
            }
            '}' => return Err(brace()),
            other => literal.push(other),
        }
    }
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

/// Returns the environment variable that holds a secret for a command: its ref, where that is a variable a shell can name;
/// otherwise in capitals, with `_` for whatever a name cannot hold.
///
/// # Examples
///
/// ```
/// use ringfence_policy::secret_variable;
///
/// assert_eq!(secret_variable("WEATHER_API_KEY"), "WEATHER_API_KEY");
/// assert_eq!(secret_variable("github/token"), "GITHUB_TOKEN");
/// ```
pub fn secret_variable(secret: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if secret.chars().all(is_plain) && !secret.starts_with(|first: char| first.is_ascii_digit()) {
        return secret.to_owned();
    }
    let capital = |character: char| if is_plain(character) { character.to_ascii_uppercase() } else { '_' };
    secret.chars().map(capital).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(command: &[&str], arguments: &Value) -> Result<Vec<String>, String> {
        CommandTemplate::parse(command)
            .unwrap()
            .render(arguments.as_object().unwrap())
            .map_err(|refusal| refusal.message.into_owned())
    }

    #[test]
    fn a_value_is_never_a_flag_or_a_second_argument() {
        #[rustfmt::skip]
        let cases = [
            // command                          arguments                      rendered
            (vec!["rg", "{p}", "."],            json!({"p": "a b; rm -rf /"}), Ok(vec!["a b; rm -rf /", "."])),
            (vec!["rg", "{p}"],                 json!({"p": "-f"}),            Err("value of `p` begins with `-` and would be read as a flag")),
            (vec!["rg", "{p}"],                 json!({"p": -1}),              Err("value of `p` begins with `-` and would be read as a flag")),
            (vec!["rg", "--", "{p}"],           json!({"p": "-f"}),            Ok(vec!["--", "-f"])),
            (vec!["rg", "-e{p}"],               json!({"p": "-f"}),            Ok(vec!["-e-f"])),
            (vec!["rg", "{p}--{q}"],            json!({"p": "", "q": "x"}),    Err("value of `p` begins with `-` and would be read as a flag")),
            (vec!["rg", "{p}{q}"],              json!({"p": "", "q": "-x"}),   Err("value of `q` begins with `-` and would be read as a flag")),
            (vec!["rg", "-m{n}", "x"],          json!({}),                     Ok(vec!["x"])),
            (vec!["rg", "-m{n}", "x"],          json!({"n": 3}),               Ok(vec!["-m3", "x"])),
            (vec!["echo", "{{p}}", "{b}"],      json!({"b": true}),            Ok(vec!["{p}", "true"])),
            (vec!["rg", "{p}"],                 json!({"p": "a\u{0}b"}),       Err("value of `p` contains a NUL character")),
            (vec!["rg", "{p}"],                 json!({"p": ["a", "b"]}),      Err("value of `p` is not a string, number or boolean")),
            (vec!["rg", "{p}"],                 json!({"p": null}),            Err("value of `p` is not a string, number or boolean")),
            (vec!["rg", "{p}"],                 json!({"p": ""}),              Ok(vec![""])),
        ];
        for (command, arguments, rendered) in cases {
            let rendered =
                rendered.map(|list| list.into_iter().map(str::to_owned).collect()).map_err(str::to_owned);
            assert_eq!(render(&command, &arguments), rendered, "{command:?} {arguments}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_template() {
        let cases: [(&[&str], CommandError); 7] = [
            (&[], CommandError::Empty),
            (&[""], CommandError::Empty),
            (&["{p}"], CommandError::ProgramFromValue("{p}".into())),
            (&["rg", "{p"], CommandError::Brace("{p".into())),
            (&["rg", "p}"], CommandError::Brace("p}".into())),
            (&["rg", "{}"], CommandError::Brace("{}".into())),
            (&["rg", "a\0"], CommandError::Nul),
        ];
        for (command, error) in cases {
            assert_eq!(CommandTemplate::parse(command).unwrap_err(), error, "{command:?}");
        }
    }
}

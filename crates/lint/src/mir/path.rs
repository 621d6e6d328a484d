//! Reads the paths and types that the compiler prints, and those of the headers of impls, which are written the same way.
//!
//! INVARIANT: reading always ends and never fails: what is not understood becomes [`Type::Other`], up to the next delimiter.

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type<'a> {
    /// A closure, an async block or another coroutine, by its place: what stands after the `@`.
    Closure(&'a str),
    /// A trait object, by its traits.
    Dyn(Vec<Path<'a>>),
    /// A function pointer, or with `item` the type of one function.
    Function(Box<Signature<'a>>),
    /// An array or a slice.
    List(Box<Type<'a>>),
    /// `impl Trait`, by its traits.
    Opaque(Vec<Path<'a>>),
    /// A lifetime, a constant, `!`, and all that is not understood.
    Other,
    /// A named type, a parameter or an associated type.
    Path(Path<'a>),
    /// A raw pointer.
    Pointer(Box<Type<'a>>),
    /// A reference.
    Reference(Box<Type<'a>>),
    /// A tuple.
    Tuple(Vec<Type<'a>>),
}

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signature<'a> {
    /// Whether it has the calling convention of another language.
    pub(super) foreign: bool,
    /// What it takes.
    pub(super) inputs: Vec<Type<'a>>,
    /// What it gives; absent for nothing.
    pub(super) output: Option<Type<'a>>,
    /// Which function it is, where this is the type of one function.
    pub(super) item: Option<Path<'a>>,
}

/// A path: `std::fs::read`, `<T as Trait>::method`, `core::slice::<impl [T]>::iter`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Path<'a> {
    /// What stands in front in angle brackets.
    pub(super) qualified: Option<Box<Qualified<'a>>>,
    /// The parts between the colons.
    pub(super) segments: Vec<Segment<'a>>,
}

/// `<T as Trait>`, `<impl Trait for T>` or `<impl T>`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Qualified<'a> {
    /// The type.
    pub(super) subject: Type<'a>,
    /// The trait, if one is named.
    pub(super) of: Option<Path<'a>>,
}

/// One part of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Segment<'a> {
    /// Its name; `{closure#0}`, `{constant#0}` and `promoted[0]` as they are, and `impl` for a block.
    pub(super) name: &'a str,
    /// Its generic arguments.
    pub(super) args: Vec<Type<'a>>,
    /// Which block, for `<impl …>` in the middle of a path.
    pub(super) block: Option<Box<Qualified<'a>>>,
}

impl<'a> Path<'a> {
    /// Reads a path.
    pub(super) fn read(text: &'a str) -> Self {
        Reader { rest: text, depth: 0 }.path()
    }

    /// Returns the last name.
    pub(super) fn tail(&self) -> &'a str {
        self.segments.last().map_or("", |segment| segment.name)
    }

    /// Returns the names joined by `::`, without generic arguments; what is in angle brackets is left out.
    pub(super) fn plain(&self) -> String {
        let mut text = String::new();
        for segment in self.segments.iter().filter(|segment| segment.block.is_none()) {
            if !text.is_empty() {
                text.push_str("::");
            }
            text.push_str(segment.name);
        }
        text
    }
}

impl<'a> Type<'a> {
    /// Reads a type.
    pub(super) fn read(text: &'a str) -> Self {
        Reader { rest: text, depth: 0 }.ty()
    }

    /// Returns the type behind references and raw pointers.
    pub(super) fn behind(&self) -> &Self {
        match self {
            Self::Pointer(inner) | Self::Reference(inner) => inner.behind(),
            _ => self,
        }
    }
}

/// Deeper types are cut off: printed types are never so deep, and the stack is not endless.
const MAX_DEPTH: u32 = 96;

struct Reader<'a> {
    rest: &'a str,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes characters while they fit.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        word
    }

    /// Takes up to, not including, the delimiter that ends what is being read.
    fn skip(&mut self) -> &'a str {
        let end = balanced_end(self.rest, |c| matches!(c, ',' | ';'));
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        word
    }

    /// Skips `for<'a>`.
    fn binder(&mut self) {
        while self.eat("for<") {
            let end = balanced_end(self.rest, |_| false);
            self.rest = self.rest.get(end..).unwrap_or("");
            self.eat(">");
            self.space();
        }
    }

    fn ty(&mut self) -> Type<'a> {
        if self.depth >= MAX_DEPTH {
            self.skip();
            return Type::Other;
        }
        self.depth += 1;
        let found = self.any_type();
        self.depth -= 1;
        found
    }

    fn any_type(&mut self) -> Type<'a> {
        self.space();
        self.binder();
        if self.eat("&") {
            self.lifetime();
            self.eat("mut ");
            return Type::Reference(Box::new(self.ty()));
        }
        if self.eat("*const ") || self.eat("*mut ") {
            return Type::Pointer(Box::new(self.ty()));
        }
        if self.eat("[") {
            let item = self.ty();
            self.skip_to_close(']');
            return Type::List(Box::new(item));
        }
        if self.eat("(") {
            return self.tuple();
        }
        if self.eat("!") {
            return Type::Other;
        }
        if self.eat("dyn ") {
            return Type::Dyn(self.bounds());
        }
        if self.eat("impl ") {
            return Type::Opaque(self.bounds());
        }
        if self.rest.starts_with('{') {
            return self.braces();
        }
        if let Some(function) = self.function() {
            return function;
        }
        match self.rest.chars().next() {
            Some(c) if c.is_alphabetic() || matches!(c, '_' | '<' | '$') => {
                let path = self.path();
                // Of `Item = T` the type counts.
                if self.rest.starts_with(" = ") {
                    self.eat(" = ");
                    return self.ty();
                }
                if (path.segments.is_empty() || matches!(path.plain().as_str(), "true" | "false" | "_"))
                    && path.qualified.is_none()
                {
                    self.skip();
                    return Type::Other;
                }
                Type::Path(path)
            }
            _ => {
                self.skip();
                Type::Other
            }
        }
    }

    fn lifetime(&mut self) {
        if self.eat("'") {
            if self.rest.starts_with('{') {
                self.take(|c| c != '}');
                self.eat("}");
            } else {
                self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '^'));
            }
            self.space();
        }
    }

    fn tuple(&mut self) -> Type<'a> {
        let mut items = Vec::new();
        let mut comma = false;
        loop {
            self.space();
            if self.rest.is_empty() || self.eat(")") {
                break;
            }
            let before = self.rest.len();
            items.push(self.ty());
            self.space();
            if self.eat(",") {
                comma = true;
            } else if !self.rest.starts_with(')') && self.rest.len() == before {
                break;
            } else if !self.rest.starts_with(')') {
                self.skip();
            }
        }
        match (comma, items.len()) {
            (false, 1) => items.pop().unwrap_or(Type::Other),
            _ => Type::Tuple(items),
        }
    }

    /// Skips what is left before a closing bracket, and the bracket.
    fn skip_to_close(&mut self, close: char) {
        while !self.rest.is_empty() && !self.rest.starts_with(close) {
            let before = self.rest.len();
            self.skip();
            if self.rest.len() == before {
                let mut chars = self.rest.chars();
                chars.next();
                self.rest = chars.as_str();
            }
        }
        self.rest = self.rest.strip_prefix(close).unwrap_or(self.rest);
    }

    /// `{closure@file:1:2: 3:4}`, `{async fn body of path()}`.
    fn braces(&mut self) -> Type<'a> {
        self.eat("{");
        let end = balanced_end(self.rest, |_| false);
        let inside = self.rest.get(..end).unwrap_or("");
        self.rest = self.rest.get(end..).unwrap_or("");
        self.eat("}");
        match inside.split_once('@') {
            Some((_, place)) => Type::Closure(place.split(" (#").next().unwrap_or(place)),
            None => Type::Other,
        }
    }

    /// `unsafe extern "C" fn(A) -> B {path}`, or nothing.
    fn function(&mut self) -> Option<Type<'a>> {
        let mut ahead = Self { rest: self.rest, depth: self.depth };
        ahead.eat("safe ");
        ahead.eat("unsafe ");
        let mut foreign = false;
        if ahead.eat("extern ") {
            let word = ahead.take(|c| c != ' ');
            foreign = word != "\"Rust\""
                && word != "\"rust-intrinsic\""
                && word != "\"RustCall\""
                && word != "\"rust-call\"";
            ahead.space();
        }
        if !ahead.eat("fn(") {
            return None;
        }
        let (inputs, mut output) = ahead.arguments();
        let mut item = None;
        if ahead.eat(" {") {
            item = Some(ahead.path());
            ahead.eat("}");
        } else if let Some(Type::Function(inner)) = &mut output {
            // Of a function that gives a function pointer, the name stands behind the pointer's type.
            item = inner.item.take();
        }
        self.rest = ahead.rest;
        Some(Type::Function(Box::new(Signature { foreign, inputs, output, item })))
    }

    /// What stands after `fn(` or `Fn(`.
    fn arguments(&mut self) -> (Vec<Type<'a>>, Option<Type<'a>>) {
        let inputs = match self.tuple() {
            Type::Tuple(items) => items,
            one => vec![one],
        };
        let output = self.eat(" -> ").then(|| self.ty());
        (inputs, output)
    }

    fn bounds(&mut self) -> Vec<Path<'a>> {
        let mut bounds = Vec::new();
        loop {
            self.space();
            let open = self.eat("(");
            self.binder();
            while self.eat("?") || self.eat("~") {}
            if self.rest.starts_with('\'') {
                self.lifetime();
            } else {
                bounds.push(self.path());
            }
            if open {
                self.eat(")");
            }
            // What follows may be ` as` or ` {`, whose space belongs to it.
            if !self.eat(" + ") {
                return bounds;
            }
        }
    }

    fn path(&mut self) -> Path<'a> {
        let mut path = Path::default();
        self.eat("::");
        if self.rest.starts_with('<') && !self.rest.starts_with("<impl ") {
            path.qualified = self.qualified().map(Box::new);
            if !self.eat("::") {
                return path;
            }
        }
        loop {
            if self.rest.starts_with("<impl ") {
                let block = self.qualified().map(Box::new);
                path.segments.push(Segment { name: "impl", args: Vec::new(), block });
            } else if self.rest.starts_with('<') {
                let args = self.generics();
                if let Some(last) = path.segments.last_mut() {
                    last.args.extend(args);
                }
            } else {
                let name = self.name();
                if name.is_empty() {
                    return path;
                }
                let mut segment = Segment { name, args: Vec::new(), block: None };
                if self.rest.starts_with('<') {
                    segment.args = self.generics();
                } else if self.eat("(") {
                    let (inputs, output) = self.arguments();
                    segment.args.extend(inputs);
                    segment.args.extend(output);
                }
                path.segments.push(segment);
            }
            if !self.eat("::") {
                return path;
            }
        }
    }

    /// A name, with the braces or brackets that belong to it.
    fn name(&mut self) -> &'a str {
        if self.rest.starts_with('{') {
            let whole = self.rest;
            self.take(|c| c != '}');
            self.eat("}");
            return whole.get(..whole.len() - self.rest.len()).unwrap_or("");
        }
        let whole = self.rest;
        self.eat("$");
        self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '#'));
        if self.rest.starts_with('[') && whole.starts_with("promoted[") {
            self.take(|c| c != ']');
            self.eat("]");
        }
        let name = whole.get(..whole.len() - self.rest.len()).unwrap_or("");
        // The number that debug output puts behind a parameter.
        if self.eat("/#") {
            self.take(|c| c.is_ascii_digit());
        }
        name.strip_prefix("r#").unwrap_or(name)
    }

    fn generics(&mut self) -> Vec<Type<'a>> {
        let mut args = Vec::new();
        self.eat("<");
        loop {
            self.space();
            if self.rest.is_empty() || self.eat(">") {
                return args;
            }
            let before = self.rest.len();
            match self.ty() {
                Type::Other => {}
                found => args.push(found),
            }
            self.space();
            if !self.eat(",") && !self.rest.starts_with('>') {
                self.skip();
                self.eat(",");
                self.eat(";");
                if self.rest.len() == before {
                    return args;
                }
            }
        }
    }

    /// `<T as Trait>`, `<T>`, `<impl Trait for T>`, `<impl T>`, `<impl at file:1:2: 3:4>`.
    fn qualified(&mut self) -> Option<Qualified<'a>> {
        self.eat("<");
        if self.eat("impl at ") {
            let place = self.take(|c| c != '>');
            self.eat(">");
            return Some(Qualified { subject: Type::Closure(place), of: None });
        }
        let found = if self.eat("impl ") {
            let first = self.ty();
            if self.eat(" for ") {
                let Type::Path(of) = first else { return None };
                Qualified { subject: self.ty(), of: Some(of) }
            } else {
                Qualified { subject: first, of: None }
            }
        } else {
            let subject = self.ty();
            let of = self.eat(" as ").then(|| self.path());
            Qualified { subject, of }
        };
        self.skip_to_close('>');
        Some(found)
    }
}

/// Finds where what is being read ends: at a closing bracket that was not opened, or outside all brackets at a character that `stops`.
pub(super) fn balanced_end(text: &str, stops: impl Fn(char) -> bool) -> usize {
    let mut open = 0_u32;
    let mut quoted = false;
    let mut before = ' ';
    let mut skipped = 0;
    for (at, c) in text.char_indices() {
        if at < skipped {
            continue;
        }
        if quoted {
            quoted = c != '"' || before == '\\';
            before = if before == '\\' && c == '\\' { ' ' } else { c };
            continue;
        }
        match c {
            _ if open == 0 && stops(c) => return at,
            '"' => quoted = true,
            // A character is no bracket.
            '\'' if text.get(at + 1..).is_some_and(|rest| {
                rest.starts_with(['<', '>', '(', ')', '[', ']', '{', '}', '"'])
                    && rest.get(1..).is_some_and(|rest| rest.starts_with('\''))
            }) =>
            {
                skipped = at + 3;
            }
            '<' | '(' | '[' | '{' => open += 1,
            '>' if before == '-' || before == '=' => {}
            '>' | ')' | ']' | '}' => {
                if open == 0 {
                    return at;
                }
                open -= 1;
            }
            _ => {}
        }
        before = c;
    }
    text.len()
}

#[cfg(test)]
mod tests;

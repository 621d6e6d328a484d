//! Reads paths and types.
//!
//! INVARIANT: reading always ends and never fails: what is not understood becomes [`Type::Other`], up to the next delimiter.

use super::{Path, Qualified, Segment, Signature, Type, balanced_end};

/// Deeper types are cut off: printed types are never so deep, and the stack is not endless.
const MAX_DEPTH: u32 = 96;

/// What is left to be read, and how deep it lies in what was read.
pub(super) struct Reader<'a> {
    pub(super) rest: &'a str,
    pub(super) depth: u32,
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

    pub(super) fn ty(&mut self) -> Type<'a> {
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

    pub(super) fn path(&mut self) -> Path<'a> {
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

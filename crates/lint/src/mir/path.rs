//! The paths and types that the compiler prints, and those of the headers of impls, which are written the same way.

mod balance;
mod read;

pub(super) use self::balance::balanced_end;

use self::read::Reader;

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

#[cfg(test)]
mod tests;

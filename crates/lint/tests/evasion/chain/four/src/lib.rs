//! A link of the chain.

pub fn read(path: &str) -> bool {
    five::read(path)
}

pub fn quiet(text: &str) -> usize {
    five::quiet(text) + 1
}

pub fn generic<T: five::Acts>(actor: &T) -> bool {
    five::generic(actor)
}

pub use five::Acts;

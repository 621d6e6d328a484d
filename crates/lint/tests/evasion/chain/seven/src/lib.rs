//! A link of the chain.

pub fn read(path: &str) -> bool {
    eight::read(path)
}

pub fn quiet(text: &str) -> usize {
    eight::quiet(text) + 1
}

pub fn generic<T: eight::Acts>(actor: &T) -> bool {
    eight::generic(actor)
}

pub use eight::Acts;

//! A link of the chain.

pub fn read(path: &str) -> bool {
    six::read(path)
}

pub fn quiet(text: &str) -> usize {
    six::quiet(text) + 1
}

pub fn generic<T: six::Acts>(actor: &T) -> bool {
    six::generic(actor)
}

pub use six::Acts;

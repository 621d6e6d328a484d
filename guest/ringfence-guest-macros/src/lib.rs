//! The macro `tool!` of `ringfence-guest`, which is documented there.
//!
//! INVARIANT: what compiles has a declaration that is a JSON object with every field that a tool must have.

mod declaration;
mod entry;

use proc_macro::TokenStream;

/// Makes a component out of a declaration and a function; see `ringfence_guest::tool`.
#[proc_macro]
pub fn tool(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<entry::Entry>(input).and_then(|entry| entry.expand());
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

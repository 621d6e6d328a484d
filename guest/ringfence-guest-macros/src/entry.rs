//! What is written inside `tool! { … }`, and the code that it becomes.
//!
//! INVARIANT: the custom section and the export `declaration` come from the same constant.

use std::path::Path;

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Result, Token};

use crate::declaration;

/// The two fields of the macro, in this order.
pub(crate) struct Entry {
    declaration: LitStr,
    call: syn::Path,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        field(input, "declaration")?;
        let declaration = input.parse()?;
        input.parse::<Token![,]>()?;
        field(input, "call")?;
        let call = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        if !input.is_empty() {
            return Err(input.error("`tool!` has the fields `declaration` and `call` and no others"));
        }
        Ok(Self { declaration, call })
    }
}

impl Entry {
    /// Checks the declaration and writes the component's exports.
    pub(crate) fn expand(&self) -> Result<TokenStream> {
        let (text, source) = self.read()?;
        declaration::check(&text).map_err(|message| Error::new(self.declaration.span(), message))?;
        let call = &self.call;
        Ok(quote! {
            const _: () = {
                const DECLARATION: &str = #source;

                #[cfg(target_family = "wasm")]
                #[used]
                #[unsafe(link_section = "ringfence:tool")]
                static SECTION: [u8; DECLARATION.len()] = {
                    let mut bytes = [0; DECLARATION.len()];
                    bytes.copy_from_slice(DECLARATION.as_bytes());
                    bytes
                };

                struct Component;

                impl ::ringfence_guest::__private::Guest for Component {
                    fn declaration() -> ::std::string::String {
                        ::std::string::String::from(DECLARATION)
                    }

                    fn call(
                        arguments: ::std::string::String,
                    ) -> ::core::result::Result<::std::string::String, ::ringfence_guest::__private::Failure> {
                        ::ringfence_guest::__private::serve(&arguments, #call)
                    }
                }

                #[cfg(target_family = "wasm")]
                ::ringfence_guest::__private::export!(
                    Component with_types_in ::ringfence_guest::__private::bindings
                );

                // Elsewhere nobody calls it, and it must still be the right kind of function.
                #[cfg(not(target_family = "wasm"))]
                const _: fn(::std::string::String) -> ::core::result::Result<
                    ::std::string::String,
                    ::ringfence_guest::__private::Failure,
                > = <Component as ::ringfence_guest::__private::Guest>::call;
            };
        })
    }

    /// Returns the JSON, and the expression that stands for it in the component.
    fn read(&self) -> Result<(String, TokenStream)> {
        let written = self.declaration.value();
        if written.trim_start().starts_with('{') {
            return Ok((written.clone(), quote!(#written)));
        }
        let folder = std::env::var("CARGO_MANIFEST_DIR")
            .map_err(|_error| Error::new(self.declaration.span(), "CARGO_MANIFEST_DIR is not set"))?;
        let text = std::fs::read_to_string(Path::new(&folder).join(&written)).map_err(|error| {
            let message = format!("`{written}`, a file beside Cargo.toml, cannot be read: {error}");
            Error::new(self.declaration.span(), message)
        })?;
        // Included and not only read, so that a change of the file is a change of the component.
        Ok((
            text,
            quote!(::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", #written))),
        ))
    }
}

/// Reads `name:`.
fn field(input: ParseStream<'_>, name: &str) -> Result<()> {
    let message = format!(
        "expected `{name}: …`; a tool is written `tool! {{ declaration: \"tool.json\", call: function }}`"
    );
    let found: Ident = input.parse().map_err(|error| Error::new(error.span(), &message))?;
    if found != name {
        return Err(Error::new(found.span(), message));
    }
    input.parse::<Token![:]>()?;
    Ok(())
}

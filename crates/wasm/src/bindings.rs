//! The world `ringfence:tool/tool`, as Rust.

wasmtime::component::bindgen!({
    path: "wit",
    world: "tool",
    imports: {
        "ringfence:tool/secrets.get": async,
        "ringfence:tool/storage.get": async,
        "ringfence:tool/storage.set": async,
        "ringfence:tool/storage.delete": async,
        "ringfence:tool/storage.list": async,
    },
    exports: { default: async },
});

//! Without hosts nothing goes out, by whatever way.

use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use serde_json::json;

use crate::runtime::kind::Kind;
use crate::runtime::stage::Stage;

#[test]
fn nothing_goes_out_without_hosts() {
    for kind in Kind::asked() {
        let stage = Stage::new(kind, "");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        datagrams.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let (tcp, udp) = (listener.local_addr().unwrap(), datagrams.local_addr().unwrap());
        #[rustfmt::skip]
        let acts = [
            json!({"act": "connect", "address": tcp.to_string()}),
            json!({"act": "connect", "address": format!("localhost:{}", tcp.port())}),
            json!({"act": "connect", "address": format!("0.0.0.0:{}", tcp.port())}),
            json!({"act": "resolve", "address": "example.com:80"}),
            json!({"act": "http", "url": format!("http://{tcp}/")}),
        ];
        for act in acts {
            let came = stage.act(act.clone());
            assert!(!came.did(), "{}: {act}: {came:?}", kind.name());
        }
        // A datagram may be sent into a namespace of its own; it must not arrive.
        let _came = stage.act(json!({"act": "udp", "address": udp.to_string()}));
        assert!(listener.accept().is_err(), "{}: somebody connected", kind.name());
        assert!(datagrams.recv(&mut [0; 16]).is_err(), "{}: a datagram came", kind.name());
    }
}

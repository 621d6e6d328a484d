//! A message that was read and written again is read as the same, on one line, and nothing in it was lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ringfence_server::message::{Message, answer_line, notification_line, request_line};

fuzz_target!(|text: &str| {
    let Ok(messages) = Message::parse(text) else { return };
    for message in &messages {
        let line = match message {
            Message::Request(request) => request_line(&request.id, &request.method, Some(&request.params.to_raw())),
            Message::Notification(own) => notification_line(&own.method, Some(&own.params.to_raw())),
            Message::Response(response) => answer_line(response.id.as_ref(), &response.answer),
        };
        assert!(!line.contains(['\n', '\r']));
        let again = Message::parse(&line).expect("what we write can be read");
        let [again] = &again[..] else { panic!("one message became several") };
        match (message, again) {
            (Message::Request(one), Message::Request(other)) => {
                assert_eq!((&one.id, &one.method), (&other.id, &other.method));
                assert_eq!(one.params.iter().count(), other.params.iter().count());
            }
            (Message::Notification(one), Message::Notification(other)) => assert_eq!(one.method, other.method),
            (Message::Response(one), Message::Response(other)) => {
                assert_eq!((&one.id, one.answer.is_ok()), (&other.id, other.answer.is_ok()));
            }
            _ => panic!("a message became one of another kind"),
        }
    }
});

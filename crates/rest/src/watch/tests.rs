//! Frames and events, cut everywhere.

use std::collections::VecDeque;
use std::task::Waker;

use apimachinery::{
    Bookmark, DynamicObject, EventKind, Lazy, Object, ObjectKey, PartialObjectMetadata, ResourceVersion,
};
use bytes::Bytes;
use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use super::event::NoEvent;
use super::frames::Frame;
use super::*;

/// A body of given pieces, and how it ends: in order, with an error, or never.
struct Pieces {
    pieces: VecDeque<Bytes>,
    end: End,
}

enum End {
    InOrder,
    Broken(BrokenKind),
    Never,
}

impl Chunks for Pieces {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, ApiError>>> {
        match (self.pieces.pop_front(), &self.end) {
            (Some(piece), _) => Poll::Ready(Some(Ok(piece))),
            (None, End::InOrder) => Poll::Ready(None),
            (None, End::Never) => Poll::Pending,
            (None, End::Broken(kind)) => {
                let source = "as planned".into();
                Poll::Ready(Some(Err(ApiError::Broken { during: "reading", kind: *kind, source })))
            }
        }
    }
}

fn reading<T: Decode>(pieces: &[&[u8]], end: End) -> Reading<T, Pieces> {
    let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect();
    Reading::new(Some(Pieces { pieces, end }), config_maps(), None)
}

fn config_maps() -> Expected {
    Expected { kind: "ConfigMap".into(), api_version: "v1".into(), ..Expected::default() }
}

/// Everything that comes without waiting.
fn all<T: Decode>(reading: &mut Reading<T, Pieces>) -> Vec<Result<WatchEvent<T>, ApiError>> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    while let Poll::Ready(Some(event)) = reading.poll_event(&mut cx) {
        all.push(event);
    }
    all
}

fn names<T: Decode + Object>(events: &[Result<WatchEvent<T>, ApiError>]) -> Vec<String> {
    let name = |event: &Result<WatchEvent<T>, ApiError>| match event {
        Ok(WatchEvent::Added(object)) => format!("+{}", object.name()),
        Ok(WatchEvent::Modified(object)) => format!("~{}", object.name()),
        Ok(WatchEvent::Deleted(object)) => format!("-{}@{}", object.name(), object.resource_version()),
        Ok(WatchEvent::Bookmark(Bookmark { resource_version, initial_events_end })) => {
            format!("={resource_version}{}", if *initial_events_end { "!" } else { "" })
        }
        Ok(WatchEvent::Undecodable { kind, error }) => format!("{kind:?}?{:?}", error.key),
        Err(error) => format!("{error:?}"),
    };
    events.iter().map(name).collect()
}

fn frame(kind: &str, name: &str, version: u32) -> String {
    format!(
        r#"{{"type":"{kind}","object":{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"shop","resourceVersion":"{version}"}},"data":{{"a":"}}{{\"\\ é\n"}}}}}}"#
    )
    .replace('\n', "\\n")
}

const FOUR: [&str; 4] = ["+a", "~a", "-a@3", "=9"];

/// Four events, with something between them.
fn stream(between: &str) -> String {
    let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9","creationTimestamp":null}}}"#;
    [frame("ADDED", "a", 1), frame("MODIFIED", "a", 2), frame("DELETED", "a", 3), bookmark.to_owned()]
        .map(|frame| frame + between)
        .concat()
}

// REST-WA-02, REST-WA-12
#[test]
fn frames_are_found_whatever_stands_between_them_and_wherever_the_bytes_are_cut() {
    for between in ["\n", "", " ", "\r\n", "\n\n \n"] {
        let text = stream(between);
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            let mut reading = reading::<ConfigMap>(&[&bytes[..cut], &bytes[cut..]], End::InOrder);
            assert_eq!(names(&all(&mut reading)), FOUR, "cut at {cut}, {between:?} between");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let mut reading = reading::<ConfigMap>(&single, End::InOrder);
        assert_eq!(names(&all(&mut reading)), FOUR, "byte by byte, {between:?} between");
    }
}

// REST-WA-02
#[test]
fn a_whole_frame_is_told_before_the_next_byte_comes() {
    for between in ["\n", ""] {
        let first = frame("ADDED", "a", 1);
        let mut reading = reading::<ConfigMap>(&[first.as_bytes()], End::Never);
        assert_eq!(names(&all(&mut reading)), ["+a"], "the first, without a newline");
        let second =
            [between.as_bytes(), frame("MODIFIED", "a", 2).as_bytes(), b"\n", first.as_bytes()].concat();
        reading.body.as_mut().unwrap().pieces.push_back(second.into());
        assert_eq!(names(&all(&mut reading)), ["~a", "+a"], "{between:?}");
    }
}

// REST-WA-02
#[test]
fn any_spelling_of_a_frame_is_read() {
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#;
    for text in [
        format!(r#"{{"object":{object},"type":"ADDED"}}"#),
        format!("{{\n  \"type\": \"ADDED\",\n  \"object\": {object}\n}}"),
        format!(r#"{{"type":"A\u0044DED","object":{object}}}"#),
        format!(r#"{{"type":"DELETED","type":"ADDED","extra":[{{}}],"object":null,"object":{object}}}"#),
        format!(r#"{{"type":"ADDED","object":{object},"more":1}}"#),
        format!(r#"{{"type":"ADDED","object":{object} }}"#),
    ] {
        let mut reading = reading::<ConfigMap>(&[text.as_bytes(), b"\n"], End::InOrder);
        assert_eq!(names(&all(&mut reading)), ["+a"], "{text}");
    }
}

// REST-WA-02
#[test]
fn an_object_over_several_lines_is_read() {
    let text = serde_json::to_string_pretty(
        &serde_json::from_str::<serde_json::Value>(&frame("ADDED", "a", 1)).unwrap(),
    )
    .unwrap();
    let text = format!("{text}\n{text}\n");
    for cut in 0..text.len() {
        let (a, b) = text.as_bytes().split_at(cut);
        let mut reading = reading::<DynamicObject>(&[a, b], End::InOrder);
        assert_eq!(names(&all(&mut reading)), ["+a", "+a"], "cut at {cut}");
    }
}

// REST-WA-11
#[test]
fn a_bookmark_needs_a_version_and_nothing_else() {
    let bookmark = |object: &str| {
        let text = format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n");
        names(&all(&mut reading::<ConfigMap>(&[text.as_bytes()], End::InOrder))).concat()
    };
    assert_eq!(bookmark(r#"{"metadata":{"resourceVersion":"12"}}"#), "=12");
    assert_eq!(
        bookmark(
            r#"{"kind":"X","metadata":{"resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null}}"#
        ),
        "=12!"
    );
    for value in ["\"True\"", "\"false\"", "null", "\"\""] {
        let object = format!(
            r#"{{"metadata":{{"resourceVersion":"12","annotations":{{"k8s.io/initial-events-end":{value}}}}}}}"#
        );
        assert_eq!(bookmark(&object), "=12", "{value}");
    }
    assert!(bookmark(r#"{"metadata":{}}"#).contains("Decode"));
    assert!(bookmark(r#"{"metadata":{"resourceVersion":""}}"#).contains("without a resource version"));
}

// REST-WA-10, REST-ER-14
#[test]
fn an_error_frame_ends_the_stream_as_a_refusal_in_whatever_shape_it_comes() {
    for object in [
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Expired","code":410,"message":"gone"}"#,
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Gone","code":410,"message":"gone"}"#,
        r#"{"status":"Failure","reason":"Expired","code":410}"#,
        r#"{"code":410}"#,
        r#"{"kind":"Status","apiVersion":"meta.k8s.io/v1","code":410}"#,
    ] {
        let text = format!("{{\"type\":\"ERROR\",\"object\":{object}}}\n{}\n", frame("ADDED", "a", 1));
        let events = all(&mut reading::<ConfigMap>(&[text.as_bytes()], End::InOrder));
        let [Err(ApiError::Status(status))] = &events[..] else { panic!("{object}: {events:?}") };
        assert!(status.is_expired(), "{object}");
    }
    for object in ["null", "{}", r#"{"kind":"ConfigMap","metadata":{"name":"a"}}"#, "7"] {
        let text = format!("{{\"type\":\"ERROR\",\"object\":{object}}}\n");
        let events = all(&mut reading::<ConfigMap>(&[text.as_bytes()], End::InOrder));
        assert!(matches!(&events[..], [Err(ApiError::Decode(_))]), "{object}: {events:?}");
    }
}

// REST-WA-01
#[test]
fn an_unknown_type_and_garbage_end_the_stream() {
    for text in [
        r#"{"type":"RENAMED","object":{"metadata":{"name":"a"}}}"#,
        r#"{"type":"","object":{}}"#,
        r#"{"type":null,"object":{}}"#,
        r#"{"object":{}}"#,
        r#"{"type":"ADDED"}"#,
        "{}",
        "{]}",
        "<html>",
        "[]",
        "\u{0}",
    ] {
        let text = format!("{text}\n{}\n", frame("ADDED", "a", 1));
        let events = all(&mut reading::<ConfigMap>(&[text.as_bytes()], End::InOrder));
        assert!(matches!(&events[..], [Err(ApiError::Decode(_))]), "{text}: {events:?}");
    }
}

// REST-XX-02
#[test]
fn what_is_no_event_is_told_without_its_values() {
    for text in [
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"},"data":"canary"}}"#,
        r#"{"type":"ERROR","object":{"kind":"Secret","data":{"k":"canary"}}}"#,
        r#"{"type":"ERROR","object":{"data":{"k":"canary"}}}"#,
        r#"{"type":"ERROR","object":"canary"}"#,
        r#"{"type":"BOOKMARK","object":{"metadata":"canary"}}"#,
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":"canary"}}}"#,
        r#"{"type":"canary","object":{}}"#,
        r#"{"type":{"a":"canary"},"object":{}}"#,
        r#"{"type" "canary"}"#,
        "canary",
    ] {
        let text = format!("{}\n", text.replace("canary", "canary-canary-canary-canary"));
        let events = all(&mut reading::<ConfigMap>(&[text.as_bytes()], End::InOrder));
        let is_told =
            matches!(&events[..], [Err(ApiError::Decode(_)) | Ok(WatchEvent::Undecodable { .. }), ..]);
        assert!(is_told, "{text}: {events:?}");
        let shown = format!("{events:?}");
        assert!(!shown.contains("canary"), "{text}: {shown}");
    }
}

// REST-ER-15, REST-WA-06
#[test]
fn a_frame_that_never_closes_is_told_with_the_next_frames_and_does_not_swallow_them_for_ever() {
    let good = stream("\n");
    for garbage in
        ["{\"type\":\"ADDED\",\"object\":{]\n", "{\"type\":\"ADDED\",\"object\":{\n", "{[\n", "{\"a\":}\n"]
    {
        let mut reading =
            reading::<ConfigMap>(&[good.as_bytes(), garbage.as_bytes(), good.as_bytes()], End::Never);
        let events = all(&mut reading);
        let last = events.last().expect("an end");
        assert!(matches!(last, Err(ApiError::Decode(_))), "{garbage}: {last:?}");
        assert_eq!(names(&events[..events.len() - 1]).len(), good.lines().count(), "{garbage}");
    }
}

#[test]
fn one_object_that_cannot_be_decoded_is_told_by_name_and_the_stream_goes_on() {
    let bad = r#"{"type":"MODIFIED","object":{"kind":"ConfigMap","metadata":{"name":"bad","namespace":"shop","resourceVersion":"5"},"data":7}}"#;
    let other = r#"{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"}}}"#;
    let null = r#"{"type":"DELETED","object":null}"#;
    for between in ["\n", ""] {
        let text =
            [bad, other, null, &frame("ADDED", "a", 6)].map(|frame| format!("{frame}{between}")).concat();
        let events = all(&mut reading::<ConfigMap>(&[text.as_bytes()], End::InOrder));
        assert_eq!(
            names(&events),
            [r#"Modified?Some("shop/bad")"#, r#"Added?Some("s")"#, "Deleted?None", "+a"],
            "{between:?}"
        );
        let Ok(WatchEvent::Undecodable { kind, error }) = &events[0] else { panic!("{events:?}") };
        assert_eq!(*kind, EventKind::Modified);
        assert_eq!(error.key, Some(ObjectKey::new("shop", "bad")));
        assert_eq!(error.resource_version.as_ref().map(ResourceVersion::as_str), Some("5"));
    }
}

#[test]
fn a_kept_form_that_reads_little_refuses_another_kind_all_the_same() {
    let other = r#"{"type":"ADDED","object":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}}"#;
    let partial = r#"{"type":"ADDED","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"p"}}}"#;
    let text = format!("{other}\n{partial}\n");
    let events = all(&mut reading::<Lazy<ConfigMap>>(&[text.as_bytes()], End::InOrder));
    assert_eq!(names(&events), [r#"Added?Some("s")"#, r#"Added?Some("p")"#]);

    let mut reading = reading::<PartialObjectMetadata<ConfigMap>>(&[text.as_bytes()], End::InOrder);
    reading.expected.is_metadata_only = true;
    assert_eq!(names(&all(&mut reading)), [r#"Added?Some("s")"#, "+p"]);
}

// REST-WA-05
#[test]
fn a_frame_beyond_the_limit_ends_the_stream_and_one_at_the_limit_does_not() {
    let text = frame("ADDED", "a", 1);
    for (limit, ok) in [(text.len(), true), (text.len() - 1, false)] {
        for end in ["\n", ""] {
            let text = format!("{text}{end}");
            for size in [1, 7, text.len()] {
                let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
                let mut reading = reading::<ConfigMap>(&pieces, End::InOrder);
                reading.frames = Frames::new(limit);
                let events = all(&mut reading);
                match &events[..] {
                    [Ok(_)] if ok => {}
                    [Err(ApiError::Broken { kind: BrokenKind::TooLarge, .. })] if !ok => {}
                    _ => panic!("limit {limit}, pieces of {size}: {events:?}"),
                }
            }
        }
    }
}

// REST-WA-05
#[test]
fn what_never_closes_is_held_up_to_the_limit_and_no_further() {
    let mut frames = Frames::new(1000);
    let mut pushed = 0;
    let error = loop {
        frames.push(Bytes::from_static(br#"{"a":{"b":"c","#));
        pushed += 14;
        match frames.next() {
            Ok(None) => {}
            Ok(Some(frame)) => panic!("{frame:?}"),
            Err(error) => break error,
        }
    };
    assert_eq!(error, FrameError::TooLarge { limit: 1000 });
    assert!(pushed <= 1014, "{pushed}");
}

// REST-WA-06
#[test]
fn an_end_in_order_or_in_the_middle_of_a_frame_is_silent() {
    let text = stream("\n");
    for cut in 0..text.len() {
        for end in [End::InOrder, End::Broken(BrokenKind::Eof)] {
            let events = all(&mut reading::<ConfigMap>(&[&text.as_bytes()[..cut]], end));
            assert!(events.iter().all(Result::is_ok), "cut at {cut}: {events:?}");
            let (before, behind) = text.as_bytes().split_at(cut);
            let whole = before.split(|&byte| byte == b'\n').count() - 1;
            let unterminated = before.ends_with(b"}}") && behind.starts_with(b"\n");
            assert_eq!(events.len(), whole + usize::from(unterminated), "cut at {cut}");
        }
    }
}

// REST-WA-06
#[test]
fn a_break_is_told_once_after_all_whole_frames() {
    for kind in [BrokenKind::Reset, BrokenKind::GoAway, BrokenKind::Other] {
        let text = format!("{}\n{}", frame("ADDED", "a", 1), r#"{"type":"ADD"#);
        let mut reading = reading::<ConfigMap>(&[text.as_bytes()], End::Broken(kind));
        let events = all(&mut reading);
        match &events[..] {
            [Ok(WatchEvent::Added(_)), Err(ApiError::Broken { kind: told, .. })] => assert_eq!(*told, kind),
            _ => panic!("{events:?}"),
        }
        assert!(all(&mut reading).is_empty(), "there is something after the end");
        assert!(reading.body.is_none(), "the body is still open");
    }
}

// REST-WA-07, REST-WA-13
#[tokio::test(start_paused = true)]
async fn silence_beyond_the_time_that_was_asked_for_is_a_timeout_even_in_the_middle_of_a_frame() {
    for rest in ["", r#"{"type":"ADDED","object":{"kind":"#] {
        let text = format!("{}\n{rest}", frame("ADDED", "a", 1));
        let body = Pieces { pieces: [Bytes::from(text)].into(), end: End::Never };
        let start = tokio::time::Instant::now();
        let limit = Duration::from_secs(330);
        let mut reading = Reading::<ConfigMap, _>::new(Some(body), config_maps(), Some(limit));
        let first = std::future::poll_fn(|cx| reading.poll_event(cx)).await;
        assert!(matches!(first, Some(Ok(WatchEvent::Added(_)))), "{first:?}");
        let second = std::future::poll_fn(|cx| reading.poll_event(cx)).await;
        let Some(Err(error @ ApiError::Broken { kind: BrokenKind::Timeout, .. })) = second else {
            panic!("{second:?}")
        };
        assert!(error.is_network_timeout());
        assert_eq!(start.elapsed().as_secs(), 330);
        assert!(reading.body.is_none(), "the body is still open");
        assert!(std::future::poll_fn(|cx| reading.poll_event(cx)).await.is_none());
    }
}

// REST-WA-08
#[test]
fn no_more_is_read_than_is_asked_for() {
    let one = frame("ADDED", "a", 1) + "\n";
    let mut reading = reading::<ConfigMap>(&[one.as_bytes(); 3], End::InOrder);
    let mut cx = Context::from_waker(Waker::noop());
    for left in [2, 1, 0] {
        assert!(reading.poll_event(&mut cx).is_ready());
        assert_eq!(reading.body.as_ref().unwrap().pieces.len(), left);
    }
}

#[test]
fn a_frame_in_one_chunk_is_not_copied() {
    let chunk = Bytes::from(format!("{}\n", frame("ADDED", "a", 1)));
    let mut frames = Frames::new(FRAME_LIMIT);
    frames.push(chunk.clone());
    let frame = frames.next().unwrap().unwrap();
    assert_eq!(frame.bytes.as_ptr(), chunk.as_ptr());
}

#[test]
fn a_guess_that_is_wrong_is_given_back_and_not_told() {
    let two = [frame("ADDED", "a", 1), frame("ADDED", "b", 2)].concat();
    let guess = Frame { bytes: two.into(), is_whole: false };
    let answer = event::read::<ConfigMap>(&guess, &config_maps());
    assert!(matches!(answer, Err(NoEvent::WrongGuess)), "{answer:?}");
}

#[test]
fn a_stream_whose_frames_do_not_end_with_newlines_is_not_guessed_at_again() {
    let mut frames = Frames::new(FRAME_LIMIT);
    frames.push(Bytes::from_static(b"{}{}\n{}\n"));
    let guess = frames.next().unwrap().unwrap();
    assert_eq!((&guess.bytes[..], guess.is_whole), (&b"{}{}"[..], false));
    frames.give_back(&guess.bytes);
    for _ in 0..3 {
        let frame = frames.next().unwrap().unwrap();
        assert_eq!((&frame.bytes[..], frame.is_whole), (&b"{}"[..], true));
    }
    assert_eq!(frames.next(), Ok(None));
}

#[test]
fn the_stream_can_be_sent_and_moved() {
    fn holds<T: Send + Unpin>() {}
    holds::<Events<ConfigMap>>();
}

/// A JSON value of any shape.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<i32>().prop_map(Into::into),
        "[\\x20-\\x7eé\\n\\t\"\\\\{}]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            proptest::collection::btree_map("[a-z\"{}\\\\]{0,6}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

// REST-WA-02
#[test]
fn a_frame_on_many_lines_may_be_cut_inside_of_a_number() {
    for (begun, rest) in [("-", "1"), ("1.", "5"), ("1e", "2"), ("1e-", "2"), ("tru", "e")] {
        let mut frames = Frames::new(FRAME_LIMIT);
        let mut found = Vec::new();
        for piece in ["{\n", &format!("\"v\":{begun}"), &format!("{rest}}}\n")] {
            frames.push(Bytes::copy_from_slice(piece.as_bytes()));
            drain(&mut frames, &mut found);
        }
        let whole: serde_json::Value = serde_json::from_str(&format!("{{\"v\":{begun}{rest}}}")).unwrap();
        assert_eq!(found, [whole], "{begun}");
    }
}

proptest! {
    // REST-WA-02
    #[test]
    fn frames_are_those_of_a_naive_splitter(
        values in proptest::collection::vec((json(), any::<bool>(), "[ \\n\\r\\t]{0,3}"), 0..6),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut text = String::new();
        let mut expected = Vec::new();
        for (value, pretty, between) in values {
            let value = serde_json::json!({ "v": value });
            let frame = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            text.push_str(&frame);
            text.push_str(&between);
            expected.push(value);
        }
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(text.len());

        let mut frames = Frames::new(FRAME_LIMIT);
        let mut found = Vec::new();
        let mut from = 0;
        for cut in cuts {
            frames.push(Bytes::copy_from_slice(&text.as_bytes()[from..cut]));
            from = cut;
            drain(&mut frames, &mut found);
        }
        frames.end();
        drain(&mut frames, &mut found);
        prop_assert!(!frames.has_rest());
        prop_assert_eq!(found, expected);
    }

    // REST-XX-05
    #[test]
    fn no_bytes_make_the_reader_panic_or_hang(
        pieces in proptest::collection::vec(
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..20),
                "(\\{\"type\":\"ADDED\",\"object\":|\\{\"kind\":\"ConfigMap\"|\\}|\n|\"|\\\\|\\[|\\]|null){0,6}"
                    .prop_map(String::into_bytes),
            ],
            0..8,
        ),
    ) {
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let events = all(&mut reading::<DynamicObject>(&pieces, End::InOrder));
        prop_assert!(events.len() <= 100);
        prop_assert!(events.iter().rev().skip(1).all(Result::is_ok));
    }
}

/// Takes all frames that are there; a guess that is no JSON value is given back.
fn drain(frames: &mut Frames, found: &mut Vec<serde_json::Value>) {
    while let Some(frame) = frames.next().unwrap() {
        match serde_json::from_slice(&frame.bytes) {
            Ok(value) => found.push(value),
            Err(error) => {
                assert!(!frame.is_whole, "{error}: {frame:?}");
                frames.give_back(&frame.bytes);
            }
        }
    }
}

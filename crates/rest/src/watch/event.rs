//! One frame into one event.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use apimachinery::{
    ApiError, Bookmark, Decode, DecodeContext, DecodeError, EventKind, Status, StatusError, WatchEvent,
};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::frames::Frame;
use crate::excerpt::excerpt;
use crate::json::kind_in_front;
use crate::request::TypeMeta;

/// The annotation of the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What a reader of events knows of the objects in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expected {
    /// Their kind; empty if anything goes.
    pub(crate) kind: String,
    /// Their apiVersion, for items whose list does not say it.
    pub(crate) api_version: String,
    /// Whether the server was asked for metadata only, so that `PartialObjectMetadata` is right, too.
    pub(crate) is_metadata_only: bool,
    /// Whether `metadata.managedFields` is skipped.
    pub(crate) skip_managed_fields: bool,
}

impl Expected {
    /// Whether an object of this kind may be one of these.
    pub(crate) fn takes(&self, kind: &str) -> bool {
        kind == self.kind
            || self.kind.is_empty()
            || (self.is_metadata_only && kind == "PartialObjectMetadata")
    }

    /// Whether a list of this kind may be a list of these. Kinds that are defined on the server may have lists of any
    /// name; of the API server's own, `SecretList` is a list of secrets.
    pub(crate) fn takes_list(&self, kind: &str) -> bool {
        let group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let is_fixed = !group.contains('.') || group.ends_with(".k8s.io");
        !is_fixed || kind.strip_suffix("List").is_none_or(|kind| kind.is_empty() || self.takes(kind))
    }

    /// Reads one object. An object that says in its first bytes that it is of another kind is refused.
    pub(crate) fn decode<T: Decode>(
        &self,
        object: &[u8],
        item_type: Option<(&str, &str)>,
    ) -> Result<T, DecodeError> {
        if let Some(kind) = kind_in_front(object)
            && !self.takes(kind)
        {
            return Err(DecodeError::about(object, format!("it is a {kind:?}, not a {:?}", self.kind)));
        }
        let mut context = DecodeContext::default();
        context.skip_managed_fields = self.skip_managed_fields;
        context.item_type = item_type;
        T::decode(object, context)
    }
}

/// Why a frame is no event.
#[derive(Debug)]
pub(crate) enum NoEvent {
    /// The frame's end was a guess, and a wrong one, perhaps: look for its true end.
    WrongGuess,
    /// The stream ends with this.
    Ends(ApiError),
}

/// Reads one frame. In the spelling of the API server its parts are found without a look at what lies between; what
/// cannot be read that way is read as the JSON that it is.
pub(crate) fn read<T: Decode>(frame: &Frame, expected: &Expected) -> Result<WatchEvent<T>, NoEvent> {
    let parts = split(&frame.bytes);
    if let Some((kind, object)) = parts
        && let Ok(event) = event_of(kind, object, expected)
    {
        return Ok(event);
    }
    if !frame.is_whole && parts.is_some() && may_go_on(&frame.bytes) {
        return Err(NoEvent::WrongGuess);
    }
    let event = serde_json::from_slice::<Envelope<'_>>(&frame.bytes)
        .map_err(|error| Err(ApiError::Decode(DecodeError::unparsed("not a watch event", &error))))
        .and_then(|envelope| event_of(envelope.kind.as_bytes(), envelope.object.get().as_bytes(), expected));
    match event {
        Ok(event) => Ok(event),
        Err(_) if !frame.is_whole && may_go_on(&frame.bytes) => Err(NoEvent::WrongGuess),
        Err(Ok(undecodable)) => Ok(undecodable),
        Err(Err(error)) => Err(NoEvent::Ends(error)),
    }
}

/// Whether bytes begin with a JSON value, or with what may become one. Garbage does not: no end of it is worth waiting for.
pub(super) fn may_go_on(bytes: &[u8]) -> bool {
    // Of a number that is cut behind a sign, a point or an exponent the parser says that it is none, not that it ends.
    let begun = bytes.iter().rev().take_while(|byte| b"-+.eE".contains(byte)).count();
    let bytes = &bytes[..bytes.len() - begun];
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>().next();
    first.is_none_or(|first| first.map_or_else(|error| error.is_eof(), |_| true))
}

/// Type and object of a frame that is spelled as the API server spells it: `{"type":"ADDED","object":…}`. The object is
/// whatever stands there.
fn split(frame: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = frame.strip_prefix(b"{\"type\":\"")?;
    let end = rest.iter().take(16).position(|&byte| byte == b'"' || byte == b'\\')?;
    let object = rest[end..].strip_prefix(b"\",\"object\":")?;
    Some((&rest[..end], object.trim_ascii_end().strip_suffix(b"}")?))
}

/// The event; or what to say if the frame is beyond doubt: an event all the same, or the end.
fn event_of<T: Decode>(
    kind: &[u8],
    object: &[u8],
    expected: &Expected,
) -> Result<WatchEvent<T>, Result<WatchEvent<T>, ApiError>> {
    let (kind, of): (_, fn(T) -> WatchEvent<T>) = match kind {
        b"ADDED" => (EventKind::Added, WatchEvent::Added),
        b"MODIFIED" => (EventKind::Modified, WatchEvent::Modified),
        b"DELETED" => (EventKind::Deleted, WatchEvent::Deleted),
        b"BOOKMARK" => return bookmark(object).map(WatchEvent::Bookmark).map_err(|e| Err(e.into())),
        b"ERROR" => return Err(Err(refusal(object))),
        other => {
            let other = excerpt(other);
            return Err(Err(DecodeError::new(format!("unknown watch event type {other}")).into()));
        }
    };
    match expected.decode(object, None) {
        Ok(object) => Ok(of(object)),
        Err(error) => Err(Ok(WatchEvent::Undecodable { kind, error })),
    }
}

/// A bookmark carries a version and perhaps an annotation; the rest of the object may be missing (REST-WA-11).
fn bookmark(object: &[u8]) -> Result<Bookmark, DecodeError> {
    #[derive(Deserialize)]
    struct Marked<'a> {
        #[serde(borrow)]
        metadata: Mark<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Mark<'a> {
        #[serde(borrow)]
        resource_version: Cow<'a, str>,
        #[serde(borrow, default)]
        annotations: Option<BTreeMap<Cow<'a, str>, Option<Cow<'a, str>>>>,
    }
    let marked: Marked<'_> =
        serde_json::from_slice(object).map_err(|error| DecodeError::unparsed("not a bookmark", &error))?;
    let version = &*marked.metadata.resource_version;
    if version.is_empty() {
        return Err(DecodeError::new("a bookmark without a resource version"));
    }
    let end = marked.metadata.annotations.as_ref().and_then(|all| all.get(INITIAL_EVENTS_END));
    Ok(Bookmark {
        resource_version: version.into(),
        initial_events_end: end.and_then(Option::as_deref) == Some("true"),
    })
}

/// What an ERROR frame says. Normally a Status; servers have been seen to leave out its kind, its reason or its code.
fn refusal(object: &[u8]) -> ApiError {
    if let Ok(refusal) = StatusError::from_object(object) {
        return refusal.into();
    }
    if let Ok(TypeMeta { kind: None }) = serde_json::from_slice(object)
        && let Ok(status) = serde_json::from_slice::<Status>(object)
        && (status.message.is_some() || status.reason.is_some() || status.code.is_some())
    {
        return StatusError::new(status).into();
    }
    // Only its kind is told: it may be anything, a Secret for one (REST-XX-02).
    let what = match serde_json::from_slice(object) {
        Ok(TypeMeta { kind: Some(kind) }) if !kind.is_empty() => format!("a {kind:?}"),
        Ok(_) => "an object without a kind".to_owned(),
        Err(_) => format!("it begins with {}", excerpt(object)),
    };
    DecodeError::new(format!("unexpected object in an ERROR event: {what}")).into()
}

/// A frame in whatever spelling: any order, any blanks, other fields; of duplicates the last counts.
struct Envelope<'a> {
    kind: Cow<'a, str>,
    object: &'a RawValue,
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Envelope<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a type and an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut kind, mut object) = (None, None);
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        "type" => kind = map.next_value::<Option<Text<'de>>>()?.map(|text| text.0),
                        "object" => object = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                let kind = kind.ok_or_else(|| serde::de::Error::missing_field("type"))?;
                let object = object.ok_or_else(|| serde::de::Error::missing_field("object"))?;
                Ok(Envelope { kind, object })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A text, borrowed where it holds no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

//! A list, read while its bytes arrive: each item is decoded as soon as it is whole, so that no more is held than what
//! was made of the items, and the bytes of one item. A core: bytes in, a page out.

#[cfg(test)]
mod tests;

use apimachinery::{ApiError, BrokenKind, Decode, DecodeError, Page, ResourceVersion, Status, StatusError};
use serde::Deserialize;

use crate::excerpt::excerpt;
use crate::json::{ValueScan, blanks};
use crate::watch::{Expected, FRAME_LIMIT};

/// A list whose bytes are arriving, in pieces of any size.
#[derive(Debug)]
pub(crate) struct ListReader<'a, T> {
    expected: &'a Expected,
    place: Place,
    /// How far the value that has begun was searched for its end.
    scan: ValueScan,
    scanned: usize,
    /// The bytes of it, if the piece that brought them is gone.
    carry: Vec<u8>,
    limit: usize,
    kind: Option<String>,
    api_version: Option<String>,
    /// What the items are, as the list says it.
    item_type: Option<(String, String)>,
    metadata: ListMeta,
    /// The members of a Status, if that is what it is.
    status: Vec<u8>,
    has_items: bool,
    items: Vec<T>,
    undecodable: Vec<DecodeError>,
}

/// Where in the list the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    FirstKey,
    Key,
    Colon(Field),
    Value(Field),
    AfterValue,
    FirstItem,
    Item,
    AfterItem,
    /// In a key, a value or an item.
    Inside(Token),
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Key,
    Value(Field),
    Item,
}

/// The members of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Kind,
    ApiVersion,
    Metadata,
    Items,
    /// A member of a Status.
    Status(&'static str),
    Other,
}

impl Field {
    fn of(key: &str) -> Self {
        match key {
            "kind" => Self::Kind,
            "apiVersion" => Self::ApiVersion,
            "metadata" => Self::Metadata,
            "items" => Self::Items,
            "status" => Self::Status("status"),
            "message" => Self::Status("message"),
            "reason" => Self::Status("reason"),
            "details" => Self::Status("details"),
            "code" => Self::Status("code"),
            _ => Self::Other,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMeta {
    resource_version: Option<String>,
    #[serde(rename = "continue")]
    continue_token: Option<String>,
    remaining_item_count: Option<i64>,
}

impl<'a, T: Decode> ListReader<'a, T> {
    pub(crate) fn new(expected: &'a Expected) -> Self {
        Self::with_limit(expected, FRAME_LIMIT)
    }

    /// No item and no other member may be larger than `limit` bytes.
    fn with_limit(expected: &'a Expected, limit: usize) -> Self {
        Self {
            expected,
            place: Place::Start,
            scan: ValueScan::default(),
            scanned: 0,
            carry: Vec::new(),
            limit,
            kind: None,
            api_version: None,
            item_type: None,
            metadata: ListMeta::default(),
            status: Vec::new(),
            has_items: false,
            items: Vec::new(),
            undecodable: Vec::new(),
        }
    }

    /// More bytes came. After an error there is nothing more to be had here.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), ApiError> {
        if self.carry.is_empty() {
            let done = self.read(piece)?;
            self.carry.extend_from_slice(&piece[done..]);
        } else {
            let mut bytes = std::mem::take(&mut self.carry);
            bytes.extend_from_slice(piece);
            let done = self.read(&bytes)?;
            bytes.drain(..done);
            self.carry = bytes;
        }
        Ok(())
    }

    /// There are no more bytes: the page.
    pub(crate) fn finish(self) -> Result<Page<T>, ApiError> {
        match self.place {
            Place::Done => {}
            Place::Start => return Err(DecodeError::new("the answer to a list is empty").into()),
            _ => return Err(DecodeError::new("the list ends in the middle").into()),
        }
        let kind = self.kind.as_deref().unwrap_or_default();
        if kind == "Status" {
            let status = format!("{{\"kind\":\"Status\"{}}}", String::from_utf8_lossy(&self.status));
            return Err(match serde_json::from_str::<Status>(&status) {
                Ok(status) if status.status.as_deref() != Some("Success") => StatusError::new(status).into(),
                _ => unexpected(&self.described()),
            });
        }
        // A list kind may have any name, but a single object has no items.
        let is_list = !kind.is_empty() && (self.has_items || kind.ends_with("List"));
        if !is_list {
            return Err(unexpected(&self.described()));
        }
        if !self.expected.takes_list(kind) {
            let expected = &self.expected.kind;
            let described = self.described();
            return Err(DecodeError::new(format!(
                "unexpected object: {described}, not a list of {expected}"
            ))
            .into());
        }
        Ok(Page {
            items: self.items,
            undecodable: self.undecodable,
            resource_version: ResourceVersion::from(self.metadata.resource_version.unwrap_or_default()),
            continue_token: self.metadata.continue_token.filter(|token| !token.is_empty()),
            remaining_item_count: self.metadata.remaining_item_count,
        })
    }

    /// Reads on; answers how many of the bytes are done with. The rest is the start of something.
    fn read(&mut self, bytes: &[u8]) -> Result<usize, ApiError> {
        let (mut start, mut at) = (0, self.scanned);
        loop {
            if let Place::Inside(token) = self.place {
                let Some(more) = self.scan.feed(&bytes[at..]) else {
                    if token == Token::Value(Field::Other) {
                        start = bytes.len();
                    }
                    self.scanned = bytes.len() - start;
                    if self.scanned > self.limit {
                        return Err(too_large(self.limit));
                    }
                    return Ok(start);
                };
                at += more;
                self.place = self.take(token, &bytes[start..at])?;
                continue;
            }
            at += blanks(&bytes[at..]);
            start = at;
            let Some(&byte) = bytes.get(at) else {
                self.scanned = 0;
                return Ok(at);
            };
            self.place = match (self.place, byte) {
                (Place::Start, b'{') => Place::FirstKey,
                (Place::FirstKey | Place::AfterValue, b'}') => Place::Done,
                (Place::AfterValue, b',') => Place::Key,
                (Place::Colon(field), b':') => Place::Value(field),
                (Place::Value(Field::Items), b'[') => {
                    // Of duplicate members the last counts.
                    self.items.clear();
                    self.undecodable.clear();
                    self.has_items = true;
                    Place::FirstItem
                }
                (Place::FirstItem | Place::AfterItem, b']') => Place::AfterValue,
                (Place::AfterItem, b',') => Place::Item,
                (Place::FirstKey | Place::Key, b'"') => self.begin(Token::Key),
                (Place::Value(_) | Place::FirstItem | Place::Item, b',' | b':' | b']' | b'}') => {
                    return Err(self.garbage(&bytes[at..]));
                }
                (Place::Value(field), _) => self.begin(Token::Value(field)),
                (Place::FirstItem | Place::Item, _) => self.begin(Token::Item),
                _ => return Err(self.garbage(&bytes[at..])),
            };
            if !matches!(self.place, Place::Inside(_)) {
                at += 1;
            }
        }
    }

    fn begin(&mut self, token: Token) -> Place {
        self.scan = ValueScan::default();
        Place::Inside(token)
    }

    /// A key, a value or an item is whole. What comes next?
    fn take(&mut self, token: Token, bytes: &[u8]) -> Result<Place, ApiError> {
        match token {
            Token::Key => {
                let key: std::borrow::Cow<'_, str> = parse("a key", bytes)?;
                return Ok(Place::Colon(Field::of(&key)));
            }
            Token::Item => {
                self.item(bytes);
                return Ok(Place::AfterItem);
            }
            Token::Value(Field::Kind) => {
                self.kind = parse("the kind", bytes)?;
                if self.kind.as_deref() == Some("Table") {
                    return Err(unexpected(&self.described()));
                }
            }
            Token::Value(Field::ApiVersion) => self.api_version = parse("the apiVersion", bytes)?,
            Token::Value(Field::Metadata) => {
                self.metadata = parse::<Option<ListMeta>>("the metadata", bytes)?.unwrap_or_default();
            }
            // `null` is an empty list (REST-EN-03).
            Token::Value(Field::Items) => {
                parse::<Option<[u8; 0]>>("items", bytes)?;
                self.has_items = true;
            }
            Token::Value(Field::Status(key)) => {
                self.status.extend_from_slice(format!(",\"{key}\":").as_bytes());
                self.status.extend_from_slice(bytes);
            }
            Token::Value(Field::Other) => {}
        }
        Ok(Place::AfterValue)
    }

    fn item(&mut self, bytes: &[u8]) {
        if self.item_type.is_none() {
            self.item_type = Some(self.inherited_type());
        }
        let item_type = self.item_type.as_ref().map(|(version, kind)| (version.as_str(), kind.as_str()));
        match self.expected.decode(bytes, item_type) {
            Ok(item) => self.items.push(item),
            Err(error) => self.undecodable.push(error),
        }
    }

    /// What an item is that does not say it (REST-DY-06): what the list says, or else what was asked for.
    fn inherited_type(&self) -> (String, String) {
        let of_list = self.kind.as_deref().and_then(|kind| kind.strip_suffix("List"));
        match (self.api_version.as_deref(), of_list) {
            (Some(version), Some(kind)) if !kind.is_empty() && kind != "PartialObjectMetadata" => {
                (version.to_owned(), kind.to_owned())
            }
            _ => (self.expected.api_version.clone(), self.expected.kind.clone()),
        }
    }

    /// For people: `meta.k8s.io/v1 Table`.
    fn described(&self) -> String {
        match (self.api_version.as_deref(), self.kind.as_deref()) {
            (_, None | Some("")) => "an object without a kind".to_owned(),
            (None, Some(kind)) => kind.to_owned(),
            (Some(version), Some(kind)) => format!("{version} {kind}"),
        }
    }

    fn garbage(&self, bytes: &[u8]) -> ApiError {
        let message = match self.place {
            Place::Start => {
                format!("the answer to a list is no JSON object: it begins with {}", excerpt(bytes))
            }
            Place::Done => format!("behind the list stands {}", excerpt(bytes)),
            // What stands in a list is somebody's data.
            _ => "the list is no JSON: a value, a key or a sign where none may stand".to_owned(),
        };
        DecodeError::new(message).into()
    }
}

fn parse<'a, V: Deserialize<'a>>(what: &str, bytes: &'a [u8]) -> Result<V, ApiError> {
    serde_json::from_slice(bytes)
        .map_err(|error| DecodeError::unparsed(&format!("{what} of a list"), &error).into())
}

fn unexpected(what: &str) -> ApiError {
    DecodeError::new(format!("unexpected object: {what}, not a list")).into()
}

fn too_large(limit: usize) -> ApiError {
    let source = format!("an item of the list is larger than the limit of {limit} bytes").into();
    ApiError::Broken { during: "reading a list", kind: BrokenKind::TooLarge, source }
}

//! Bodies that are made while they are sent: watches frame by frame, lists some items at a time.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::core::{ResourceInfo, Stored, WatchFrame, WatchId};
use crate::http::negotiate::Form;
use crate::http::shared::Shared;
use crate::http::status;
use crate::table::{Printer, partial};

/// A list is sent in pieces of about this size.
const PIECE: usize = 64 * 1024;

/// How objects are shown in this answer.
pub(crate) enum Show {
    Object,
    Table { printer: Printer, include: String, headers_sent: bool },
    Partial,
}

impl Show {
    pub(crate) fn new(form: Form, resource: &ResourceInfo, include: Option<&str>) -> Self {
        match form {
            Form::Object => Self::Object,
            Form::Partial => Self::Partial,
            Form::Table => Self::Table {
                printer: Printer::of(resource),
                include: include.unwrap_or("Metadata").to_owned(),
                headers_sent: false,
            },
        }
    }

    /// One object in this form. A table tells its columns once.
    pub(crate) fn one(&mut self, object: &Value) -> Value {
        match self {
            Self::Object => object.clone(),
            Self::Partial => partial(object),
            Self::Table { printer, include, headers_sent } => {
                let row = printer.row(object, include, Timestamp::now());
                let metadata = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
                let with_columns = !std::mem::replace(headers_sent, true);
                printer.table(&metadata, &[row], with_columns)
            }
        }
    }
}

/// The frames of one watch. Dropping it ends the watch.
pub(crate) struct WatchStream {
    shared: Arc<Shared>,
    id: WatchId,
    show: Show,
    /// A planned fault: the bookmark that ends the initial events is swallowed.
    withhold_end: bool,
}

impl WatchStream {
    pub(crate) fn new(shared: Arc<Shared>, id: WatchId, show: Show, withhold_end: bool) -> Self {
        Self { shared, id, show, withhold_end }
    }

    /// The next frame, with its newline; none at the end.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let frame = match self.shared.poll_watch(self.id, cx.waker()) {
                Poll::Ready(Some(frame)) => frame,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            };
            if let WatchFrame::Bookmark(bookmark) = &frame
                && bookmark.ends_initial_events
                && self.withhold_end
            {
                continue;
            }
            return Poll::Ready(Some(self.bytes(&frame)));
        }
    }

    fn bytes(&mut self, frame: &WatchFrame) -> Bytes {
        let (kind, stored) = match frame {
            WatchFrame::Added(stored) => ("ADDED", stored),
            WatchFrame::Modified(stored) => ("MODIFIED", stored),
            WatchFrame::Deleted(stored) => ("DELETED", stored),
            WatchFrame::Bookmark(bookmark) => {
                return line("BOOKMARK", self.show.one(&bookmark.object).to_string().as_bytes());
            }
            WatchFrame::Error(refusal) => return error_frame(refusal),
        };
        match &mut self.show {
            Show::Object => line(kind, stored.bytes()),
            show => line(kind, show.one(&stored.value()).to_string().as_bytes()),
        }
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        self.shared.stop_watch(self.id);
    }
}

/// An `ERROR` event with a status in it.
pub(crate) fn error_frame(refusal: &apimachinery::StatusError) -> Bytes {
    line("ERROR", status::body(refusal).to_string().as_bytes())
}

fn line(kind: &str, object: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(object.len() + 40);
    bytes.put_slice(b"{\"type\":\"");
    bytes.put_slice(kind.as_bytes());
    bytes.put_slice(b"\",\"object\":");
    bytes.put_slice(object);
    bytes.put_slice(b"}\n");
    bytes.freeze()
}

/// A list's body, item by item from the bytes that the core keeps.
pub(crate) struct ListStream {
    head: Option<Bytes>,
    items: std::vec::IntoIter<Arc<Stored>>,
    /// What stands at the start of each kept object and not in a list of a built-in kind: its version and kind.
    strip: Option<Stripper>,
    is_first: bool,
    is_done: bool,
}

impl ListStream {
    /// `head` is everything up to and with the bracket that opens the items.
    pub(crate) fn new(head: String, items: Vec<Arc<Stored>>, resource: &ResourceInfo) -> Self {
        Self {
            head: Some(Bytes::from(head)),
            items: items.into_iter(),
            strip: (!resource.custom).then(|| Stripper::new(resource)),
            is_first: true,
            is_done: false,
        }
    }

    /// The next piece; none at the end.
    pub(crate) fn next_piece(&mut self) -> Option<Bytes> {
        if self.is_done {
            return None;
        }
        let mut piece = BytesMut::with_capacity(PIECE.min(self.items.len().saturating_mul(1024)).max(256));
        if let Some(head) = self.head.take() {
            piece.put_slice(&head);
        }
        while piece.len() < PIECE {
            let Some(stored) = self.items.next() else {
                piece.put_slice(b"]}\n");
                self.is_done = true;
                break;
            };
            if !std::mem::replace(&mut self.is_first, false) {
                piece.put_u8(b',');
            }
            match &self.strip {
                None => piece.put_slice(stored.bytes()),
                Some(strip) => strip.write(&stored, &mut piece),
            }
        }
        Some(piece.freeze())
    }
}

/// Takes `apiVersion` and `kind` off an object: a kube-apiserver's lists of built-in kinds do not repeat them.
struct Stripper {
    prefix: String,
}

impl Stripper {
    fn new(resource: &ResourceInfo) -> Self {
        Self {
            prefix: format!(
                "{{\"apiVersion\":\"{}\",\"kind\":\"{}\",",
                resource.api_version(),
                resource.kind
            ),
        }
    }

    fn write(&self, stored: &Stored, out: &mut BytesMut) {
        if let Some(rest) = stored.bytes().strip_prefix(self.prefix.as_bytes()) {
            out.put_u8(b'{');
            out.put_slice(rest);
            return;
        }
        // Another field stands between the two, or before them: only the tree knows where.
        let mut value = stored.value();
        if let Value::Object(fields) = &mut value {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        out.put_slice(value.to_string().as_bytes());
    }
}

//! Large answers are compressed for those who can read it: from 128 KiB, at the fastest level, as kube-apiserver does it.

use std::io::Write;

use bytes::{BufMut, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, VARY};

use crate::http::answer::Answer;
use crate::http::body::Content;

/// Below this a body is sent as it is.
const LEAST: usize = 128 * 1024;

/// Whether the header `Accept-Encoding` names gzip.
pub(super) fn is_accepted(encodings: Option<&str>) -> bool {
    let mut names = encodings.unwrap_or_default().split(',');
    names.any(|name| name.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("gzip")))
}

/// Compresses a body that is large, and is no watch.
pub(super) fn compress(mut answer: Answer) -> Answer {
    let whole = match answer.content {
        Content::Whole(bytes) => bytes,
        Content::List(mut list) => {
            let mut whole = BytesMut::new();
            while let Some(piece) = list.next_piece() {
                whole.put_slice(&piece);
            }
            whole.freeze()
        }
        other @ (Content::Watch(_) | Content::Frames(_)) => return Answer { content: other, ..answer },
    };
    answer.content = Content::Whole(whole.clone());
    if whole.len() < LEAST {
        return answer;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(whole.len() / 4), Compression::fast());
    match encoder.write_all(&whole).and_then(|()| encoder.finish()) {
        Ok(compressed) => {
            answer.content = Content::Whole(compressed.into());
            answer.headers.push((CONTENT_ENCODING, HeaderValue::from_static("gzip")));
            answer.headers.push((VARY, HeaderValue::from_static("Accept-Encoding")));
        }
        Err(error) => tracing::warn!(%error, "an answer is sent uncompressed"),
    }
    answer
}

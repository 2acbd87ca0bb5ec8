//! The shell: sockets, requests, answers. It decides nothing that the core could decide.
//!
//! One request goes: `listener` (TLS, HTTP) → [`handle`] (log, faults, who is it) → `request` (what is asked) → `objects`
//! or `discovery` (ask the core) → `body` (send it, or what a planned fault makes of it).

mod answer;
mod auth;
mod bodies;
mod body;
mod gzip;
mod listener;
mod log;
mod negotiate;
mod objects;
mod options;
mod request;
mod reviews;
mod service;
mod shared;
mod socket;
mod status;
mod stream;
mod tasks;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

pub(crate) use answer::Answer;
use apimachinery::{Status, StatusDetails, StatusError};
pub(crate) use auth::Authenticator;
pub(crate) use body::Content;
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
pub(crate) use listener::{Peer, Speech, accept};
pub(crate) use log::Log;
pub use log::Request;
pub(crate) use negotiate::aggregated;
pub(crate) use request::Route;
pub(crate) use reviews::REVIEWS;
pub(crate) use service::Service;
pub(crate) use shared::Shared;
pub(crate) use tasks::Tasks;

use crate::core::errors;
use crate::discovery;
use crate::faults::{Expired, Fault, Verb};
use crate::http::body::{AnswerBody, Strike};
use crate::http::objects::{Call, Twist};
use crate::http::request::Query;

/// The largest body that is read, as in kube-apiserver: 3 MiB.
const MAX_BODY: usize = 3 * 1024 * 1024;

/// Answers one request. It always answers: what goes wrong is in the answer.
pub(crate) async fn handle(
    service: Arc<Service>,
    peer: Peer,
    request: http::Request<Incoming>,
) -> Result<http::Response<AnswerBody>, Infallible> {
    let (parts, body) = request.into_parts();
    let (answer, strike) = respond(&service, &peer, &parts, body).await;
    let mut response = http::Response::new(AnswerBody::new(answer.content, strike, peer.control));
    *response.status_mut() = answer.code;
    for (name, value) in answer.headers {
        response.headers_mut().insert(name, value);
    }
    response
        .headers_mut()
        .insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("no-cache, private"));
    Ok(response)
}

/// What is answered, and what happens to it on its way.
async fn respond(
    service: &Arc<Service>,
    peer: &Peer,
    parts: &http::request::Parts,
    body: Incoming,
) -> (Answer, Option<(crate::faults::After, Strike)>) {
    let (path, raw_query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
    let (route, query) = (Route::of(path), Query::parse(raw_query));
    let verb = request::verb(&parts.method, &route, &query);
    let user = service.auth.user(peer, &parts.headers);
    let entry = log_entry(peer, parts, verb, user.clone());
    let faults = service.bench(|bench| {
        bench.log.push(entry);
        bench.script.take(verb, path, raw_query)
    });
    service.arrived.notify_waiters();
    tracing::debug!(?verb, path, query = raw_query, "request");

    let (mut twist, mut strike) = (Twist::default(), None);
    for fault in faults {
        match fault {
            Fault::Delay(delay) => tokio::time::sleep(delay).await,
            Fault::Refuse { code, retry_after } => return (refuse(code, retry_after), None),
            Fault::Close => {
                peer.control.close();
                return std::future::pending().await;
            }
            Fault::Reset => {
                peer.control.reset();
                return std::future::pending().await;
            }
            Fault::Silence => {
                peer.control.silence();
                return std::future::pending().await;
            }
            Fault::GoAway => {
                peer.control.drain();
                tokio::task::yield_now().await; // the connection hears of it before it writes the answer's head
            }
            Fault::Expire(shape) => return (expire(shape), None),
            Fault::Html { code } => return (Answer::html(code), None),
            Fault::Body(bytes) => {
                return (Answer::new(200, answer::JSON, Content::Whole(bytes.into())), None);
            }
            Fault::Cut { after, end } => strike = Some((after, Strike::End(end))),
            Fault::Stall { after } => strike = Some((after, Strike::Stall)),
            Fault::Garbage { after_frames, mut frame } => {
                frame.push(b'\n');
                strike = Some((crate::faults::After::Frames(after_frames), Strike::Insert(frame.into())));
            }
            Fault::NoInitialEventsEnd => twist.withhold_end = true,
            Fault::NoWatchList(how) => twist.no_watch_list = Some(how),
        }
    }
    let Some(user) = user else { return (Answer::refusal(&unauthorized()), strike) };
    let mut answer = match read(body).await {
        Ok(body) => dispatch(service, &route, &query, verb, parts, &body, &user, twist),
        Err(refusal) => Answer::refusal(&refusal),
    };
    if parts.method == http::Method::GET && gzip::is_accepted(header(&parts.headers, &ACCEPT_ENCODING)) {
        answer = gzip::compress(answer);
    }
    (answer, strike)
}

#[expect(clippy::too_many_arguments, reason = "the parts of one request, each taken apart once")]
fn dispatch(
    service: &Arc<Service>,
    route: &Route,
    query: &Query,
    verb: Verb,
    parts: &http::request::Parts,
    body: &[u8],
    user: &str,
    twist: Twist,
) -> Answer {
    let accept = header(&parts.headers, &ACCEPT);
    let Route::Objects(path) = route else {
        if !matches!(parts.method, http::Method::GET | http::Method::HEAD) {
            return Answer::text(405, "405 method not allowed\n");
        }
        return service.shared.read(|core| discovery::answer(core, route, accept));
    };
    if let Some(answer) = reviews::answer(path, verb, header(&parts.headers, &CONTENT_TYPE), body, user) {
        return answer;
    }
    let call = Call {
        verb,
        path,
        query,
        accept,
        content_type: header(&parts.headers, &CONTENT_TYPE),
        user_agent: header(&parts.headers, &USER_AGENT),
        body,
    };
    match objects::answer(&service.shared, &call, twist) {
        Ok(answer) => answer,
        Err(refusal) if refusal == errors::no_such_path() => Answer::no_such_path(),
        Err(refusal) => Answer::refusal(&refusal),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The entry of the log: everything but the credentials.
fn log_entry(peer: &Peer, parts: &http::request::Parts, verb: Verb, user: Option<String>) -> Request {
    let mut headers = parts.headers.clone();
    headers.remove(AUTHORIZATION);
    Request {
        verb,
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        protocol: parts.version,
        headers,
        user,
        connection: peer.connection,
    }
}

async fn read(body: Incoming) -> Result<Bytes, StatusError> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(status::refusal(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {MAX_BODY}"),
        )),
        Err(error) => Err(errors::bad_request(format!("the body could not be read: {error}"))),
    }
}

fn unauthorized() -> StatusError {
    status::refusal(401, "Unauthorized", "Unauthorized")
}

fn refuse(code: u16, retry_after: Option<u32>) -> Answer {
    let (reason, message) = match code {
        400 => ("BadRequest", "bad request"),
        401 => ("Unauthorized", "Unauthorized"),
        403 => ("Forbidden", "forbidden: a planned fault"),
        404 => ("NotFound", "the server could not find the requested resource"),
        405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
        409 => ("Conflict", "the server reported a conflict"),
        410 => ("Expired", "the requested version is too old"),
        429 => ("TooManyRequests", "Too many requests, please try again later."),
        500 => ("InternalError", "Internal error occurred: a planned fault"),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "the request timed out"),
        _ => ("", "a planned fault"),
    };
    Answer::refusal(&StatusError::new(Status {
        status: Some("Failure".to_owned()),
        message: Some(message.to_owned()),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        code: Some(code),
        details: retry_after
            .map(|seconds| StatusDetails { retry_after_seconds: Some(seconds), ..StatusDetails::default() }),
    }))
}

fn expire(shape: Expired) -> Answer {
    let message = "too old resource version: 1 (2)";
    let expired = status::refusal(410, "Expired", message);
    let gone = status::refusal(410, "Gone", message);
    let event = |refusal| {
        Answer::new(200, answer::JSON, Content::Frames(VecDeque::from([stream::error_frame(refusal)])))
    };
    match shape {
        Expired::Answer => Answer::refusal(&expired),
        Expired::AnswerGone => Answer::refusal(&gone),
        Expired::Event => event(&expired),
        Expired::EventGone => event(&gone),
    }
}

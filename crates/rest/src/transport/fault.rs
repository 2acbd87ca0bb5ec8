//! What went wrong, told by the type of the error and never by its text.

use std::error::Error;
use std::io;

use apimachinery::{ApiError, BoxError, BrokenKind, ConnectKind};

/// The request never reached the server.
pub(super) fn connect(host: &str, kind: ConnectKind, source: impl Into<BoxError>) -> ApiError {
    ApiError::Connect { host: host.to_owned(), kind, source: source.into() }
}

/// An I/O error before the connection stood.
pub(super) fn connect_io(host: &str, otherwise: ConnectKind, error: io::Error) -> ApiError {
    let kind = match error.kind() {
        _ if is_tls(&error) => ConnectKind::Tls,
        io::ErrorKind::ConnectionRefused => ConnectKind::Refused,
        io::ErrorKind::TimedOut => ConnectKind::Timeout,
        _ => otherwise,
    };
    connect(host, kind, error)
}

/// The connection broke with a request on it.
pub(super) fn broken(host: &str, during: &'static str, error: hyper::Error) -> ApiError {
    // With TLS 1.3 a server refuses our certificate after our side of the handshake is over.
    if is_refusal(&error) {
        return connect(host, ConnectKind::Tls, error);
    }
    ApiError::Broken { during, kind: kind(&error), source: Box::new(error) }
}

/// Did the server provably not process the request (RFC 9113, 8.7)?
pub(super) fn is_unprocessed(error: &hyper::Error) -> bool {
    find::<h2::Error>(error).is_some_and(|error| {
        error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// Did the server refuse this one request, on a connection that goes on?
pub(super) fn is_refused_stream(error: &hyper::Error) -> bool {
    find::<h2::Error>(error).is_some_and(|error| error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// Did the connection end before a byte of the answer came?
pub(super) fn is_closed_before_answer(error: &hyper::Error) -> bool {
    error.is_incomplete_message()
        || error.is_canceled()
        || error.is_closed()
        || find::<io::Error>(error)
            .is_some_and(|error| matches!(of_io(error.kind()), BrokenKind::Reset | BrokenKind::Eof))
}

/// Does the server speak nothing of what we offered?
pub(super) fn is_no_protocol(error: &ApiError) -> bool {
    let ApiError::Connect { kind: ConnectKind::Tls, source, .. } = error else { return false };
    matches!(
        find::<rustls::Error>(source.as_ref()),
        Some(rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol))
    )
}

fn kind(error: &hyper::Error) -> BrokenKind {
    if is_unprocessed(error) {
        return BrokenKind::GoAway;
    }
    if error.is_timeout() {
        return BrokenKind::Timeout;
    }
    if error.is_incomplete_message() {
        return BrokenKind::Eof;
    }
    if let Some(error) = find::<h2::Error>(error) {
        return match error.get_io() {
            Some(error) => of_io(error.kind()),
            None if error.is_reset() => BrokenKind::Reset,
            None => BrokenKind::Other,
        };
    }
    match find::<io::Error>(error) {
        Some(error) => of_io(error.kind()),
        None if error.is_canceled() || error.is_closed() => BrokenKind::Eof,
        None => BrokenKind::Other,
    }
}

fn of_io(kind: io::ErrorKind) -> BrokenKind {
    match kind {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => BrokenKind::Reset,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected => {
            BrokenKind::Eof
        }
        io::ErrorKind::TimedOut => BrokenKind::Timeout,
        _ => BrokenKind::Other,
    }
}

fn is_tls(error: &io::Error) -> bool {
    find::<rustls::Error>(error).is_some()
}

/// Did the server refuse our certificate? Then it has not looked at the request.
pub(super) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    use rustls::AlertDescription as Alert;
    let Some(rustls::Error::AlertReceived(alert)) = find::<rustls::Error>(error) else { return false };
    matches!(
        alert,
        Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::CertificateRequired
            | Alert::UnknownCA
            | Alert::AccessDenied
    )
}

/// The first error of this type among the causes. An `io::Error` hides its cause from `source`, so it is opened.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

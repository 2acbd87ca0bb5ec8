//! PEM text into certificates and keys, judged by content and not by label.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::{CertifiedKey, SigningKey};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::p521_key;

/// One block of PEM text.
struct Block {
    label: String,
    /// `Proc-Type: 4,ENCRYPTED` and the like.
    has_headers: bool,
    /// None if what stands between the lines is no base64.
    der: Option<Vec<u8>>,
}

/// The blocks of this text; whatever stands around them is skipped.
fn blocks(text: &[u8]) -> Vec<Block> {
    let text = String::from_utf8_lossy(text);
    let mut blocks = Vec::new();
    let mut open: Option<(String, bool, String)> = None;
    for line in text.lines().map(str::trim) {
        let marker = |word: &str| line.strip_prefix(word).and_then(|rest| rest.strip_suffix("-----"));
        if let Some(label) = marker("-----BEGIN ") {
            open = Some((label.to_owned(), false, String::new()));
        } else if marker("-----END ").is_some() {
            if let Some((label, has_headers, base64)) = open.take() {
                blocks.push(Block { label, has_headers, der: STANDARD.decode(base64).ok() });
            }
        } else if let Some((_, has_headers, base64)) = &mut open {
            if line.contains(':') {
                *has_headers = true;
            } else {
                base64.push_str(line);
            }
        }
    }
    blocks
}

/// The certificates of a bundle (REST-TL-03): other blocks, blocks with headers and unreadable ones are skipped.
pub(crate) fn certificates(text: &[u8]) -> Vec<CertificateDer<'static>> {
    blocks(text)
        .into_iter()
        .filter(|block| block.label == "CERTIFICATE" && !block.has_headers)
        .filter_map(|block| block.der)
        .filter(|der| {
            rustls::server::ParsedCertificate::try_from(&CertificateDer::from(der.as_slice())).is_ok()
        })
        .map(CertificateDer::from)
        .collect()
}

/// The first private key, in whichever form its bytes are: PKCS#8, SEC1 or PKCS#1.
fn signing_key(text: &[u8]) -> Result<Arc<dyn SigningKey>, String> {
    let block = blocks(text)
        .into_iter()
        .find(|block| block.label.ends_with("PRIVATE KEY"))
        .ok_or("no private key in the PEM text")?;
    if block.has_headers || block.label.contains("ENCRYPTED") {
        return Err("the private key is encrypted; only keys without a pass phrase can be used".into());
    }
    let der = block.der.ok_or("the private key is no base64")?;
    if let Some(key) = p521_key::signing_key(&der) {
        return Ok(key);
    }
    let forms = [
        PrivateKeyDer::Pkcs8(der.clone().into()),
        PrivateKeyDer::Sec1(der.clone().into()),
        PrivateKeyDer::Pkcs1(der.into()),
    ];
    forms
        .iter()
        .find_map(|form| any_supported_type(form).ok())
        .ok_or_else(|| "a private key of a kind that cannot be used (RSA below 2048 bits, or damaged)".into())
}

/// A certificate with the key that belongs to it.
pub(super) fn identity(cert: &[u8], key: &[u8]) -> Result<CertifiedKey, String> {
    let chain: Vec<_> = blocks(cert)
        .into_iter()
        .filter(|block| block.label == "CERTIFICATE")
        .filter_map(|block| block.der)
        .map(CertificateDer::from)
        .collect();
    let Some(leaf) = chain.first() else { return Err("no certificate in the PEM text".into()) };
    rustls::server::ParsedCertificate::try_from(leaf).map_err(|error| format!("the certificate: {error}"))?;
    let identity = CertifiedKey::new(chain, signing_key(key)?);
    match identity.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(identity),
        Err(_) => Err("the private key does not belong to the (first) certificate".into()),
    }
}

/// From when to when a certificate counts: seconds since 1970. None if it cannot be read.
pub(super) fn validity(cert: &[u8]) -> Option<(i64, i64)> {
    let (_, certificate, _) = element(cert)?;
    let (_, mut rest, _) = element(certificate)?;
    // version (optional), serial number, algorithm, issuer
    let mut tag;
    let mut content;
    (tag, _, rest) = element(rest)?;
    if tag == 0xa0 {
        (_, _, rest) = element(rest)?;
    }
    (_, _, rest) = element(rest)?;
    (_, _, rest) = element(rest)?;
    (tag, content, _) = element(rest)?;
    if tag != 0x30 {
        return None;
    }
    let (from_tag, from, after) = element(content)?;
    (tag, content, _) = element(after)?;
    Some((time(from_tag, from)?, time(tag, content)?))
}

/// One DER element: tag, content, what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 || rest.len() < count {
            return None;
        }
        length = rest[..count].iter().fold(0, |length, &byte| (length << 8) | usize::from(byte));
        rest = &rest[count..];
    }
    (length <= rest.len()).then(|| (tag, &rest[..length], &rest[length..]))
}

/// `UTCTime` or `GeneralizedTime`.
fn time(tag: u8, text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let text = match tag {
        0x17 if text.len() == 12 => {
            let century = if text.get(..2)?.parse::<u8>().ok()? < 50 { "20" } else { "19" };
            format!("{century}{text}")
        }
        0x18 if text.len() == 14 => text.to_owned(),
        _ => return None,
    };
    let time = jiff::civil::DateTime::strptime("%Y%m%d%H%M%S", text).ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
}

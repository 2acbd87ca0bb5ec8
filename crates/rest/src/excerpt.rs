//! What an error shows of bytes that are not what they should be.

/// How many bytes at most.
const LIMIT: usize = 64;

/// The beginning of `bytes`, quoted: enough to recognise a proxy's page, and nothing of an object (REST-XX-02).
///
/// At most 64 bytes, and none from the first sign on that data is spelled with: a brace, a bracket, a quote, a backslash, a
/// colon or an equals sign. A word of more than 20 letters and digits is data, too, and ends it.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let bytes = bytes.trim_ascii();
    let shown = &bytes[..bytes.len().min(LIMIT)];
    let is_sign = |byte: &u8| b"{}[]\"'`\\:=".contains(byte);
    let mut shown = &shown[..shown.iter().position(is_sign).unwrap_or(shown.len())];
    // Part of a word tells nothing of how long it is.
    let mut start = 0;
    for word in shown.split(|byte| b" \t\r\n<>/.,;()".contains(byte)) {
        if word.len() > LONGEST_WORD {
            shown = &shown[..start];
            break;
        }
        start += word.len() + 1;
    }
    let more = if shown.len() < bytes.len() { "…" } else { "" };
    format!("{:?}{more}", String::from_utf8_lossy(shown))
}

/// No word of a page is longer; tokens and keys are.
const LONGEST_WORD: usize = 20;

#[cfg(test)]
mod tests {
    use super::excerpt;

    // REST-XX-02
    #[test]
    fn an_excerpt_shows_a_page_and_no_data() {
        for (bytes, shown) in [
            ("<html><body>502 Bad Gateway</body></html>", r#""<html><body>502 Bad Gateway</body></html>""#),
            (" upstream connect error: reset\n", r#""upstream connect error"…"#),
            (r#"{"data":{"k":"canary"}}"#, r#"""…"#),
            (r#"["canary"]"#, r#"""…"#),
            (r#""canary""#, r#"""…"#),
            ("data: canary", r#""data"…"#),
            ("token=canary", r#""token"…"#),
            ("see eyJhbGciOiJSUzI1NiIsImtpZCI6 there", r#""see "…"#),
            ("eyJhbGciOiJSUzI1NiIsImtpZCI6.eyJpc3", r#"""…"#),
            ("", r#""""#),
        ] {
            assert_eq!(excerpt(bytes.as_bytes()), shown, "{bytes}");
        }
        assert_eq!(excerpt("a ".repeat(100).as_bytes()), format!("{:?}…", "a ".repeat(32)));
    }
}

//! `Warning` headers: `299 - "text" "date"`, several in one line (RFC 7234, section 5.5).

use http::HeaderMap;

/// The texts that the server wants people to read: code 299, not empty (REST-RS-11). A header that goes wrong at some
/// place counts up to there (REST-RS-10).
pub(super) fn warnings(headers: &HeaderMap) -> Vec<String> {
    let mut texts = Vec::new();
    for value in headers.get_all(http::header::WARNING) {
        let mut rest = String::from_utf8_lossy(value.as_bytes()).into_owned();
        while let Some((code, text, behind)) = first(&rest) {
            if code == "299" && !text.is_empty() {
                texts.push(text);
            }
            rest = behind.to_owned();
        }
    }
    texts
}

/// Code and text of the first warning, and what stands behind it. `None` at the end, and if it is none.
fn first(line: &str) -> Option<(&str, String, &str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let (code, rest) = line.split_at_checked(3)?;
    if !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (agent, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
    if agent.is_empty() || agent.contains(['"', ',']) || agent.chars().any(char::is_control) {
        return None;
    }
    let (text, rest) = quoted(rest.trim_start_matches(' '))?;
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = if rest.starts_with('"') { quoted(rest)?.1 } else { rest };
    let rest = rest.trim_start_matches([' ', '\t']);
    match rest.strip_prefix(',') {
        Some(behind) => Some((code, text, behind)),
        None if rest.is_empty() => Some((code, text, rest)),
        None => None,
    }
}

/// The text between quotes, its escapes undone, and what stands behind it.
fn quoted(line: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = line.strip_prefix('"')?.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((text, &line[at + 2..])),
            '\\' => text.push(chars.next()?.1),
            control if control.is_control() => return None,
            char => text.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("warning", http::HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        warnings(&headers)
    }

    // REST-RS-10, REST-RS-11
    #[test]
    fn warnings_are_read_as_the_table_says() {
        for (line, texts) in [
            (r#"299 - "policy/v1beta1 is deprecated""#, &["policy/v1beta1 is deprecated"][..]),
            (r#"299 host:80 "a \"b\" \\ c" "Wed, 21 Oct 2015 07:28:00 GMT""#, &[r#"a "b" \ c"#]),
            (r#"299 - "one", 299 - "two" , 299 - "three""#, &["one", "two", "three"]),
            (r#"299 - "one",199 - "not shown",299 - "three""#, &["one", "three"]),
            (r#"299 - """#, &[]),
            (r#"110 - "stale""#, &[]),
            (r#"29 - "short code""#, &[]),
            (r#"2999 - "long code""#, &[]),
            (r#"29a - "no code""#, &[]),
            (r#"299 "no agent""#, &[]),
            ("299 - no quotes", &[]),
            (r#"299 - "open"#, &[]),
            (r#"299 - "first", garbage, 299 - "lost""#, &["first"]),
            (r#"299 - "text" trailing"#, &[]),
            ("299 - \"tab\there\"", &[]),
            ("299 - \"é\"", &["é"]),
            (r#"299 - "=?utf-8?q?left as it is?=""#, &["=?utf-8?q?left as it is?="]),
            ("299", &[]),
            ("", &[]),
        ] {
            assert_eq!(of(&[line]), texts, "{line}");
        }
        assert_eq!(of(&["broken", r#"299 - "of the next header""#]), ["of the next header"]);
    }
}

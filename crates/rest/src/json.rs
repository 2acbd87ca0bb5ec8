//! Where a JSON value ends. The scan stops at any byte and goes on with the next, so bytes may come cut anywhere.

/// Finds the end of one JSON value. What lies between is not checked: whoever reads the value does that.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueScan {
    state: State,
    depth: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before the first byte.
    #[default]
    Start,
    /// In a number or a word.
    Word,
    /// In an object or an array, outside of any text.
    Open,
    /// In a text.
    Text,
    /// In a text, behind a backslash.
    Escape,
}

impl ValueScan {
    /// Reads on. `Some(n)`: the value ended with the first `n` of these bytes. The first byte of all must be that of
    /// the value: no blanks before it. A number or a word ends before the byte that cannot belong to it.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                State::Start => {
                    self.state = match bytes[at] {
                        b'{' | b'[' => {
                            self.depth = 1;
                            State::Open
                        }
                        b'"' => State::Text,
                        _ => State::Word,
                    };
                    at += 1;
                }
                State::Word => {
                    let rest = &bytes[at..];
                    return rest.iter().position(|&byte| ends_word(byte)).map(|n| at + n);
                }
                State::Open => {
                    let rest = &bytes[at..];
                    at += rest.iter().position(|&byte| MARKS[byte as usize])?;
                    match bytes[at] {
                        b'"' => self.state = State::Text,
                        b'{' | b'[' => self.depth += 1,
                        _ => self.depth -= 1,
                    }
                    at += 1;
                    if self.depth == 0 {
                        return Some(at);
                    }
                }
                State::Text => {
                    let rest = &bytes[at..];
                    at += quote_or_backslash(rest)?;
                    self.state = if bytes[at] == b'\\' { State::Escape } else { State::Open };
                    at += 1;
                    if self.state == State::Open && self.depth == 0 {
                        return Some(at);
                    }
                }
                State::Escape => {
                    self.state = State::Text;
                    at += 1;
                }
            }
        }
        None
    }
}

/// Where the first quote or backslash stands. Texts are short on average: eight bytes at a time beat a call of `memchr2`,
/// whose start costs more than most texts.
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    // The high bit of each byte that is zero; above the first of those, others may be set, too.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let hits = zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if hits != 0 {
            return Some(at * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|&byte| byte == b'"' || byte == b'\\')?;
    Some(words.len() * 8 + at)
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\n' | b'\r' | b'\t')
}

/// The bytes that mean something outside of a text.
const MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    marks[b'"' as usize] = true;
    marks[b'{' as usize] = true;
    marks[b'}' as usize] = true;
    marks[b'[' as usize] = true;
    marks[b']' as usize] = true;
    marks
};

/// The length of the blanks that `bytes` begin with.
pub(crate) fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).unwrap_or(bytes.len())
}

/// The kind of an object whose bytes begin with it, as the API server writes them: `{"kind":"Pod","apiVersion":…` or
/// `{"apiVersion":"v1","kind":"Pod",…`. `None` tells nothing: the kind may stand elsewhere. Costs a few bytes' look.
pub(crate) fn kind_in_front(object: &[u8]) -> Option<&str> {
    let rest = object.strip_prefix(b"{")?;
    let rest = match rest.strip_prefix(b"\"apiVersion\":\"") {
        Some(rest) => {
            let end = rest.iter().take(128).position(|&byte| byte == b'"')?;
            rest[end..].strip_prefix(b"\",")?
        }
        None => rest,
    };
    let rest = rest.strip_prefix(b"\"kind\":\"")?;
    let end = rest.iter().take(128).position(|&byte| byte == b'"' || byte == b'\\')?;
    (rest[end] == b'"').then(|| std::str::from_utf8(&rest[..end]).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_it_ends_however_it_is_cut() {
        for (value, behind) in [
            (r#"{"a":[1,{"b":"}\"]"}]}"#, r#"{"x":1}"#),
            (r#""te\\xt\"""#, ","),
            ("-12.5e3", "]"),
            ("null", " "),
            ("[]", "]"),
            (r#"{"\\":"\\"}"#, "\n"),
        ] {
            let whole = format!("{value}{behind}");
            for cut in 0..=whole.len() {
                let mut scan = ValueScan::default();
                let (a, b) = whole.as_bytes().split_at(cut);
                let end = scan.feed(a).or_else(|| scan.feed(b).map(|n| n + a.len()));
                assert_eq!(end, Some(value.len()), "{whole} cut at {cut}");
            }
        }
    }

    #[test]
    fn a_value_that_goes_on_has_no_end() {
        for value in ["{", r#"{"a":"}"#, r#""\""#, "12", r#"{"a":{}"#] {
            assert_eq!(ValueScan::default().feed(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn the_kind_is_read_where_the_server_writes_it() {
        assert_eq!(kind_in_front(br#"{"kind":"Pod","apiVersion":"v1"}"#), Some("Pod"));
        assert_eq!(kind_in_front(br#"{"apiVersion":"a/v1","kind":"B","x":1}"#), Some("B"));
        assert_eq!(kind_in_front(br#"{"metadata":{},"kind":"Pod"}"#), None);
        assert_eq!(kind_in_front(br#"{"kind":"P\u006fd"}"#), None);
        assert_eq!(kind_in_front(b"null"), None);
    }

    proptest::proptest! {
        #[test]
        fn a_quote_or_a_backslash_is_found_among_any_bytes(
            bytes in proptest::collection::vec(proptest::prop_oneof![
                8 => proptest::num::u8::ANY,
                1 => proptest::strategy::Just(b'"'),
                1 => proptest::strategy::Just(b'\\'),
                1 => proptest::strategy::Just(b'!'),
            ], 0..40)
        ) {
            let naive = bytes.iter().position(|&byte| byte == b'"' || byte == b'\\');
            proptest::prop_assert_eq!(quote_or_backslash(&bytes), naive);
        }
    }
}

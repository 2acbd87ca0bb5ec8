//! What a parser says, without the values that it quotes.

/// The text of `error`: what did not match, what was expected, line and column; of the value only its type.
///
/// Errors of syntax quote nothing. Those of serde have known forms, and the value in them is replaced by its type. Of any
/// other text, which a form's own code wrote, everything from the first quote to the last is left out.
pub(super) fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    if !error.is_data() {
        return text;
    }
    let place = match error.line() {
        0 => String::new(),
        line => format!(" at line {line} column {}", error.column()),
    };
    let message = text.strip_suffix(&place).unwrap_or(&text);
    format!("{}{place}", without_values(message))
}

fn without_values(message: &str) -> String {
    for mismatch in ["invalid type: ", "invalid value: "] {
        if let Some(rest) = message.strip_prefix(mismatch) {
            // What is expected comes from the form, so the last of these is not in the value.
            let Some((value, expected)) = rest.rsplit_once(", expected ") else { break };
            return format!("{mismatch}{}, expected {expected}", type_of(value));
        }
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        // ``unknown variant `x`, expected one of `a`, `b` ``
        return match rest.rsplit_once("`, expected ") {
            Some((_, expected)) => format!("unknown variant, expected {expected}"),
            None => "unknown variant".to_owned(),
        };
    }
    // These name a field, which is no value.
    let of_fields = ["missing field `", "duplicate field `", "unknown field `"];
    if of_fields.iter().any(|form| message.starts_with(form)) {
        return message.to_owned();
    }
    let is_quote = |c| matches!(c, '"' | '`' | '\'');
    let (Some(first), Some(last)) = (message.find(is_quote), message.rfind(is_quote)) else {
        return message.to_owned();
    };
    let after = if first == last { "" } else { &message[last + 1..] };
    format!("{}…{after}", &message[..first])
}

/// How serde names the types of values, before the value itself if that is told.
fn type_of(value: &str) -> &'static str {
    let name = value.split(['"', '`']).next().unwrap_or_default().trim_end();
    match name {
        "string" => "a string",
        "character" => "a character",
        "integer" => "an integer",
        "floating point" => "a floating point number",
        "boolean" => "a boolean",
        "byte array" => "bytes",
        "null" | "unit value" => "null",
        "map" => "a map",
        "sequence" => "a sequence",
        _ => "another value",
    }
}

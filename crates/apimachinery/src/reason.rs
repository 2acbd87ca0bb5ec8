//! `Reason`: the one word by which the API server says why not.

use std::fmt;

macro_rules! reasons {
    ($($reason:ident = $text:literal),* $(,)?) => {
        /// The reasons that this library knows. A newer server may send others: they are [`Reason::Unknown`] here, and
        /// the text stays readable in [`Status::reason`](crate::Status::reason).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the API's own words")]
        pub enum Reason { Unknown, $($reason),* }

        impl Reason {
            /// All that are known, in the order of the API's own source.
            pub const KNOWN: &[Self] = &[$(Self::$reason),*];

            /// Reads a reason as it stands in a Status; what is empty or not known is [`Reason::Unknown`].
            pub fn parse(text: &str) -> Self {
                match text {
                    $($text => Self::$reason,)*
                    _ => Self::Unknown,
                }
            }

            /// As it stands in a Status; `""` for [`Reason::Unknown`].
            pub fn as_str(self) -> &'static str {
                match self {
                    Self::Unknown => "",
                    $(Self::$reason => $text,)*
                }
            }
        }
    };
}

reasons! {
    Unauthorized = "Unauthorized",
    Forbidden = "Forbidden",
    NotFound = "NotFound",
    AlreadyExists = "AlreadyExists",
    Conflict = "Conflict",
    Gone = "Gone",
    Invalid = "Invalid",
    ServerTimeout = "ServerTimeout",
    // The name says Store, the wire says Storage.
    StoreReadError = "StorageReadError",
    Timeout = "Timeout",
    TooManyRequests = "TooManyRequests",
    BadRequest = "BadRequest",
    MethodNotAllowed = "MethodNotAllowed",
    NotAcceptable = "NotAcceptable",
    RequestEntityTooLarge = "RequestEntityTooLarge",
    UnsupportedMediaType = "UnsupportedMediaType",
    InternalError = "InternalError",
    Expired = "Expired",
    ServiceUnavailable = "ServiceUnavailable",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The causes that the API's own source names, for [`StatusError::cause`](crate::StatusError::cause).
pub mod cause {
    /// The thing that a field refers to is not there.
    pub const FIELD_VALUE_NOT_FOUND: &str = "FieldValueNotFound";
    /// A field that must be set is not.
    pub const FIELD_VALUE_REQUIRED: &str = "FieldValueRequired";
    /// A value that must be unique is not.
    pub const FIELD_VALUE_DUPLICATE: &str = "FieldValueDuplicate";
    /// A value that breaks a rule.
    pub const FIELD_VALUE_INVALID: &str = "FieldValueInvalid";
    /// A value outside of a list of values.
    pub const FIELD_VALUE_NOT_SUPPORTED: &str = "FieldValueNotSupported";
    /// A value that is valid elsewhere, and not here.
    pub const FIELD_VALUE_FORBIDDEN: &str = "FieldValueForbidden";
    /// A text above its limit.
    pub const FIELD_VALUE_TOO_LONG: &str = "FieldValueTooLong";
    /// A list above its limit.
    pub const FIELD_VALUE_TOO_MANY: &str = "FieldValueTooMany";
    /// The server's own mistake while it validated.
    pub const INTERNAL_ERROR: &str = "InternalError";
    /// A value of another type.
    pub const FIELD_VALUE_TYPE_INVALID: &str = "FieldValueTypeInvalid";
    /// An answer that no API server gives; the message holds the text. Something on the way may have spoken.
    pub const UNEXPECTED_SERVER_RESPONSE: &str = "UnexpectedServerResponse";
    /// Another manager owns a field of an apply.
    pub const FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";
    /// The version asked for is newer than what the server has.
    pub const RESOURCE_VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";
    /// A frame of a watch could not be decoded.
    pub const CLIENT_WATCH_DECODING: &str = "ClientWatchDecoding";
}

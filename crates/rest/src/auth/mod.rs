//! Who we are: headers of a request, from the configured credentials.

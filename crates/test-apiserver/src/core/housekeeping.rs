//! What the controllers of a real control plane do after a write, as far as clients notice: owned objects go with their
//! owners, namespaces empty and go, pods go when their grace is over.

use jiff::Timestamp;

use super::Core;

impl Core {
    /// Does what is due. Called by every write.
    #[expect(clippy::unused_self, reason = "filled in next")]
    pub(crate) fn housekeep(&mut self, _now: Timestamp) {}
}

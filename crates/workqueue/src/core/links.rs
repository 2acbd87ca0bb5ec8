//! Doubly linked lists through the slots of a `Vec`: no allocation to enter, constant time to leave.

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// The neighbours of a slot that is in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    pub(crate) prev: u32,
    pub(crate) next: u32,
}

impl Links {
    pub(crate) const ALONE: Self = Self { prev: NONE, next: NONE };
}

/// A slot that can be in one list.
pub(crate) trait Linked {
    fn links(&mut self) -> &mut Links;
}

/// A first-in first-out list of slots. Each slot is in at most one list; that is the caller's to keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
    len: usize,
}

impl List {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE, len: 0 };

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first slot, or [`NONE`].
    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    pub(crate) fn push_back<T: Linked>(&mut self, slots: &mut [T], slot: u32) {
        *slots[at(slot)].links() = Links { prev: self.tail, next: NONE };
        match self.tail {
            NONE => self.head = slot,
            tail => slots[at(tail)].links().next = slot,
        }
        self.tail = slot;
        self.len += 1;
    }

    pub(crate) fn pop_front<T: Linked>(&mut self, slots: &mut [T]) -> Option<u32> {
        let head = self.head;
        if head == NONE {
            return None;
        }
        self.remove(slots, head);
        Some(head)
    }

    /// Takes out `slot`, which is in this list.
    pub(crate) fn remove<T: Linked>(&mut self, slots: &mut [T], slot: u32) {
        let Links { prev, next } = std::mem::replace(slots[at(slot)].links(), Links::ALONE);
        match prev {
            NONE => self.head = next,
            prev => slots[at(prev)].links().next = next,
        }
        match next {
            NONE => self.tail = prev,
            next => slots[at(next)].links().prev = prev,
        }
        self.len -= 1;
    }
}

/// A slot's place in its `Vec`.
pub(crate) fn at(slot: u32) -> usize {
    slot as usize
}

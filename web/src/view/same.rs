//! A shared value that is the same only as itself: components compare a pointer, not a report of megabytes.

use std::ops::Deref;
use std::rc::Rc;

/// See the module.
#[derive(Debug)]
pub struct Same<T: ?Sized>(pub Rc<T>);

impl<T: ?Sized> Clone for Same<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T: ?Sized> PartialEq for Same<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: ?Sized> Deref for Same<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> From<&Rc<T>> for Same<T> {
    fn from(rc: &Rc<T>) -> Self {
        Self(Rc::clone(rc))
    }
}

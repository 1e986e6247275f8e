//! Why the kubelet does not see a pod's volumes gone: `WaitForUnmount` and `podVolumesExist`.

mod held;
mod plugin;
mod remains;

pub use held::*;
pub use plugin::*;
pub use remains::*;

use super::containers::joined;
use crate::Cause;

pub(super) static ALL: &[&Cause] =
    &joined::<{ held::ALL.len() + plugin::ALL.len() + remains::ALL.len() }>(&[held::ALL, plugin::ALL, remains::ALL]);

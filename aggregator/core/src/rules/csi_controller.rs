//! The controller parts of CSI drivers: whether the one that should act renews its Lease.

use findings::duration;

use super::phrases::{Quote, age};
use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// How a controller part stands.
pub enum Sidecar {
    /// No Lease of that name, or none that is visible.
    NotTold,
    /// Its Lease is renewed.
    Alive(Quote),
    /// Its Lease has run out.
    Silent(Quote),
}

/// The csi-attacher of a driver.
pub fn attacher(lister: &Lister, diagnosis: &mut Diagnosis, driver: &str) -> Sidecar {
    find_lease(lister, diagnosis, &format!("external-attacher-leader-{driver}"))
}

/// The csi-provisioner of a driver.
pub fn provisioner(lister: &Lister, diagnosis: &mut Diagnosis, driver: &str) -> Sidecar {
    find_lease(lister, diagnosis, driver)
}

/// The Lease of this name, in whichever namespace the driver lives.
fn find_lease(lister: &Lister, diagnosis: &mut Diagnosis, name: &str) -> Sidecar {
    let name = lock_name(name);
    let about = Select::Fields(format!("metadata.name={name}"));
    let answer = lister.select::<Lease>(known::LEASES, Scope::All, about);
    let leases = diagnosis.optional(format!("leases called {name}"), "whether the driver's controller runs", answer);
    // The driver may have lived in another namespace before.
    let latest = leases.into_iter().flatten().max_by_key(|lease| lease.spec.renew_time);
    let Some(lease) = latest else { return Sidecar::NotTold };
    let source = format!("Lease {}/{name}", lease.metadata.namespace.as_deref().unwrap_or_default());
    let holder = &lease.spec.holder_identity;
    match (lister.expired_for(lease), lease.spec.renew_time) {
        (Some(late), _) => Sidecar::Silent((source, format!("held by {holder}, not renewed for {}", duration(late)))),
        (None, Some(at)) => Sidecar::Alive((source, format!("held by {holder}, renewed {} ago", age(lister, at)))),
        (None, None) => Sidecar::NotTold,
    }
}

/// As the CSI library for leader election writes a name.
fn lock_name(name: &str) -> String {
    let mut lock: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
    if lock.ends_with('-') {
        lock.push('X');
    }
    lock
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_lease_is_named_after_the_driver() {
        assert_eq!(
            super::lock_name("external-attacher-leader-ebs.csi.aws.com"),
            "external-attacher-leader-ebs-csi-aws-com"
        );
        assert_eq!(super::lock_name("x."), "x-X");
    }
}

//! The controller parts of CSI drivers: whether the one that should act renews its Lease.

use findings::{Controller, Existence, duration};

use super::phrases::{Quote, age};
use crate::rules::prelude::*;

/// How a controller part stands.
pub enum Sidecar {
    /// No Lease of that name, or none that is visible.
    NotTold,
    /// Its Lease is renewed.
    Alive(Quote),
    /// Its Lease has run out.
    Silent(Quote),
}

/// A sidecar container of a driver's controller.
#[derive(Clone, Copy)]
pub enum Role {
    /// csi-attacher.
    Attacher,
    /// csi-provisioner.
    Provisioner,
}

/// What is known of a driver's controller: the steps depend on it.
pub struct CsiController<'d> {
    pub driver: &'d str,
    lease: String,
    /// How the sidecar stands.
    pub sidecar: Sidecar,
    /// Whether its CSIDriver exists.
    pub driver_exists: Existence,
}

impl<'d> CsiController<'d> {
    /// Looks for the sidecar's Lease and the CSIDriver.
    pub fn find(case: &mut Case, driver: &'d str, role: Role) -> Self {
        let lease = match role {
            Role::Attacher => lock_name(&format!("external-attacher-leader-{driver}")),
            Role::Provisioner => lock_name(driver),
        };
        let sidecar = find_lease(case, &lease);
        CsiController { driver, lease, sidecar, driver_exists: existence(case, driver) }
    }

    /// The same of the attacher that a finalizer of a volume names, with dashes for all that is neither letter nor digit.
    pub fn of_finalizer(case: &mut Case, finalizer: &'d str) -> Self {
        let driver = finalizer.split_once('/').map_or(finalizer, |(_, driver)| driver);
        let lease = lock_name(&format!("external-attacher-leader-{driver}"));
        let sidecar = find_lease(case, &lease);
        CsiController { driver, lease, sidecar, driver_exists: Existence::Present }
    }

    /// "; CSIDriver D does not exist", or nothing.
    pub fn words(&self) -> String {
        match self.driver_exists {
            Existence::Gone => format!("; CSIDriver {} does not exist", self.driver),
            Existence::Present => String::new(),
        }
    }

    /// Adds what is known to a cause.
    pub fn add_to(self, root: RootCause) -> RootCause {
        let (state, quote) = match self.sidecar {
            Sidecar::Silent(lease) => (Controller::NotReady, Some(lease)),
            Sidecar::Alive(lease) => (Controller::Ready, Some(lease)),
            Sidecar::NotTold => (Controller::Unknown, None),
        };
        let root = match self.driver_exists {
            Existence::Gone => root.evidence(format!("CSIDriver {}", self.driver), "not found"),
            Existence::Present => root,
        };
        root.given(Circumstance::Controller(state))
            .given(Circumstance::Driver(self.driver_exists))
            .name(Placeholder::Driver, self.driver)
            .name(Placeholder::Lease, self.lease)
            .with_evidence(quote)
    }
}

/// Whether the driver is installed, as far as its CSIDriver shows: a driver needs none.
fn existence(case: &mut Case, driver: &str) -> Existence {
    let answer = case.lister.object(&Resource::new("storage.k8s.io", "v1", "csidrivers"), None, driver);
    let is_gone = answer.is_missing();
    case.diagnosis.optional(format!("CSIDriver {driver}"), "whether the driver is installed", answer);
    if is_gone { Existence::Gone } else { Existence::Present }
}

/// The Lease of this name, in whichever namespace the driver lives.
fn find_lease(case: &mut Case, name: &str) -> Sidecar {
    let about = Select::Fields(format!("metadata.name={name}"));
    let answer = case.lister.select::<Lease>(known::LEASES, Scope::All, about);
    let leases =
        case.diagnosis.optional(format!("leases called {name}"), "whether the driver's controller runs", answer);
    // The driver may have lived in another namespace before.
    let latest = leases.into_iter().flatten().max_by_key(|lease| lease.spec.renew_time);
    let Some(lease) = latest else { return Sidecar::NotTold };
    let source = format!("Lease {}/{name}", lease.metadata.namespace.as_deref().unwrap_or_default());
    let holder = &lease.spec.holder_identity;
    match (case.lister.expired_for(lease), lease.spec.renew_time) {
        (Some(late), _) => Sidecar::Silent((source, format!("held by {holder}, not renewed for {}", duration(late)))),
        (None, Some(at)) => Sidecar::Alive((source, format!("held by {holder}, renewed {} ago", age(case.lister, at)))),
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

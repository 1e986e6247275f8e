//! Kinds of things that have a stable name each.

/// Declares an enum with the name of each variant, as in JSON, metric labels and documents.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $of:ident { $($(#[$about:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        $vis enum $of {
            $($(#[$about])* $variant,)*
        }

        impl $of {
            /// All of them, in their order.
            pub const ALL: &'static [$of] = &[$($of::$variant),*];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($of::$variant => $name,)*
                }
            }
        }
    };
}

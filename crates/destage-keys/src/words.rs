//! Enums that are written as words.

/// A value that is written as a word.
pub trait Word: Sized {
    /// The words, in the order of their meanings.
    const NAMES: &'static [&'static str];

    /// The value of this word.
    fn parse(text: &str) -> Option<Self>;

    /// The word, as in a table.
    fn name(self) -> &'static str;
}

/// An enum, and the word of each of its values: `NAMES`, `name`, [`Word`], [`AsValue`] and serde's
/// `Serialize` follow.
///
/// [`AsValue`]: crate::AsValue
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$what])* $word,)* }

        impl $name {
            /// The words, in the order of their meanings.
            pub const NAMES: &'static [&'static str] = &[$($text),*];

            /// The word, as in a table.
            pub const fn name(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }
        }

        impl $crate::Word for $name {
            const NAMES: &'static [&'static str] = $name::NAMES;

            fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$word),)* _ => None }
            }

            fn name(self) -> &'static str {
                $name::name(self)
            }
        }

        impl $crate::AsValue for $name {
            fn of(value: &$crate::Value) -> Option<Self> {
                value.as_text().and_then(<$name as $crate::Word>::parse)
            }

            fn value(&self) -> $crate::Value {
                self.name().into()
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

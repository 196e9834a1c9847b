//! No circle of modules in any package: of the modules of one folder, none knows another that knows it, directly or through others.
//! A folder is one module to those beside it. What its `mod.rs` and the files below it know of each other is its own affair: a parent
//! names its children, and children what their parent defines for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use crate::paths::{Crate, ModulePath};

/// Modules of one folder, each with those of the same folder that it names, and where it names them.
pub(crate) type Siblings = BTreeMap<String, BTreeMap<String, String>>;

/// Every circle of every crate: its folder, its modules, and what ties each to the next.
pub(crate) fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for (root, files) in crates(files) {
        match folders(files) {
            Ok(folders) => {
                for (folder, siblings) in folders {
                    let place = [&[root.to_owned()], folder.as_slice()].concat().join("/");
                    found.extend(of_folder(&siblings).iter().map(|ring| format!("{place}: a circle of imports: {ring}")));
                }
            }
            Err(error) => found.push(format!("{root}: {error:#}")),
        }
    }
    found
}

/// The graphs of one crate's folders; the crate's own is that of no name.
pub(crate) fn folders(files: Vec<(&str, &str)>) -> Result<BTreeMap<ModulePath, Siblings>> {
    let read = Crate::read(files)?;
    let mut folders: BTreeMap<ModulePath, Siblings> = BTreeMap::new();
    for (from, to) in read.edges() {
        let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
        if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
            let known = folders.entry(from[..shared].to_vec()).or_default().entry(one.clone()).or_default();
            known.entry(other.clone()).or_insert_with(|| from[shared..].join("::"));
        }
    }
    Ok(folders)
}

/// Source files by the crate that they belong to: below the nearest folder with a `lib.rs` or a `main.rs`.
pub(crate) fn crates<'a>(files: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, Vec<(&'a str, &'a str)>> {
    let folder = |path: &'a str| path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_rust = |path: &str| Path::new(path).extension().is_some_and(|extension| extension == "rs");
    let is_root = |path: &str| path.ends_with("/lib.rs") || path.ends_with("/main.rs");
    let roots: BTreeSet<&str> = files.iter().filter(|(path, _)| is_root(path)).map(|(path, _)| folder(path)).collect();
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for &(path, text) in files.iter().filter(|(path, _)| is_rust(path)) {
        let mut root = folder(path);
        while !root.is_empty() && !roots.contains(root) {
            root = folder(root);
        }
        if let Some(inside) = path.strip_prefix(root).and_then(|path| path.strip_prefix('/')).filter(|_| !root.is_empty()) {
            crates.entry(root).or_default().push((inside, text));
        }
    }
    crates
}

/// The circles of one folder, each as modules that all reach each other.
fn of_folder(siblings: &Siblings) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = siblings.keys().map(|name| (name.as_str(), reach(siblings, name))).collect();
    let mut reported = BTreeSet::new();
    let mut rings = Vec::new();
    for (name, to) in &reached {
        let ring: BTreeSet<&str> =
            to.iter().copied().filter(|other| reached.get(other).is_some_and(|back| back.contains(name))).collect();
        if ring.len() > 1 && reported.insert(ring.clone()) {
            let ties = ring.iter().flat_map(|one| {
                let known = siblings[*one].iter().filter(|(other, _)| ring.contains(other.as_str()));
                known.map(move |(other, place)| format!("{place} names {other}"))
            });
            rings.push(ties.collect::<Vec<_>>().join(", "));
        }
    }
    rings
}

/// The modules that one leads to, itself only where a circle leads back.
fn reach<'a>(siblings: &'a Siblings, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        let known = siblings.get(at).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
        open.extend(known.filter(|name| reached.insert(*name)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many circles there are in a crate of two modules, `pods` with this text and `taints` that names `pods`.
    fn check(pods: &str, expected: usize) {
        let root = "mod pods; mod taints; pub(crate) use taints::Effect; use taints as t;";
        let taints = "use super::pods::Pod; pub enum Effect { NoSchedule }";
        let files = [("kube/src/lib.rs", root), ("kube/src/pods/mod.rs", pods), ("kube/src/taints.rs", taints)];
        assert_eq!(circles(&files).len(), expected, "{pods}: {:?}", circles(&files));
    }

    #[test]
    fn a_circle_is_found_by_any_spelling() {
        for pods in [
            "use super::taints::Effect; pub struct Pod;",
            "use crate::taints::Effect; pub struct Pod;",
            "use crate::{pods, taints::{self, Effect as E}}; pub struct Pod;",
            "use super::taints::*; pub struct Pod;",
            // What the parent exports of it, and under another name.
            "use crate::Effect; pub struct Pod;",
            "use super::Effect::NoSchedule; pub struct Pod;",
            "use crate::t::Effect; pub struct Pod;",
            "use super::*; pub struct Pod { effect: Effect }",
            // Without an import.
            "pub struct Pod { effect: Vec<crate::taints::Effect> }",
            "pub struct Pod; fn f() { let _ = self::super::taints::Effect::NoSchedule; }",
            "pub struct Pod; fn f() { println!(\"{}\", crate::taints::Effect::NoSchedule); }",
            "pub struct Pod { #[serde(default = \"crate::taints::effect\")] x: u8 }",
            "pub struct Pod; impl Pod { fn f(&self) { use super::super::pods; use crate::taints; } }",
            "macro_rules! effect { () => { $crate::taints::Effect::NoSchedule } } pub struct Pod;",
            "pub struct Pod; mod one { use crate::taints::Effect as _; use std::fmt::Write as _; }",
            "use super::{self as up}; pub struct Pod { effect: up::taints::Effect }",
            "use crate::r#taints::Effect; pub struct Pod;",
            "pub struct Pod { #[cfg_attr(test, serde(with = \"super::taints\"))] x: u8 }",
            "macro_rules! m { () => { use $crate::{taints::Effect}; } } pub struct Pod;",
            // In a module inside the file.
            "pub struct Pod; #[cfg(test)] mod tests { use super::super::taints::Effect; }",
        ] {
            check(pods, 1);
        }
    }

    #[test]
    fn what_a_parent_exports_as_a_whole_is_followed() {
        let taints = "use super::pods::Pod; tagged! { pub enum Effect { NoSchedule } }";
        for (root, pods) in [
            ("mod pods; mod taints; pub use taints::*;", "use crate::Effect; pub struct Pod;"),
            ("mod pods; mod taints; pub use pods::*; pub use taints::*;", "use super::Effect; pub struct Pod;"),
            ("mod pods; mod taints; use taints as t;", "use crate::t; pub struct Pod;"),
        ] {
            let files = [("kube/src/lib.rs", root), ("kube/src/pods.rs", pods), ("kube/src/taints.rs", taints)];
            assert_eq!(circles(&files).len(), 1, "{root} {pods}");
        }
    }

    #[test]
    fn one_way_is_no_circle() {
        for pods in [
            "pub struct Pod;",
            "// use super::taints::Effect;\n/// [`super::taints`]\npub struct Pod;",
            "use std::fmt; use other::taints::Effect; pub struct Pod;",
            "pub struct Pod; #[cfg(test)] mod tests { use super::*; use super::Pod; fn f(taints: u8) -> u8 { taints } }",
            "pub struct Pod; pub enum Effect { Own } fn f() { let _ = Effect::Own; }",
            "pub struct Pod; const TEXT: &str = \"crate::taints::Effect\";",
        ] {
            check(pods, 0);
        }
    }

    #[test]
    fn longer_circles_and_those_between_folders_are_found() {
        let files = [
            ("a/src/main.rs", "mod x; mod y; mod z;"),
            ("a/src/x/mod.rs", "mod deep;"),
            ("a/src/x/deep.rs", "use super::super::y::Y;"),
            ("a/src/y.rs", "pub type Y = crate::z::Z;"),
            ("a/src/z.rs", "pub struct Z(crate::x::deep::X);"),
        ];
        assert_eq!(circles(&files), ["a/src: a circle of imports: x::deep names y, y names z, z names x"]);
        // Files of several crates never make a circle, and what is not Rust is reported.
        assert_eq!(
            circles(&[("a/src/lib.rs", "mod x;"), ("a/src/x.rs", "use crate::y::Y;"), ("b/src/lib.rs", "")]),
            [] as [String; 0]
        );
        assert_eq!(circles(&[("a/src/lib.rs", "use;")]).len(), 1);
    }
}

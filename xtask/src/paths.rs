//! What the modules of a crate name of each other: `crate::`, `super::`, groups, globs, names that another module exports again, paths
//! in macros and in strings of attributes, in bodies of functions, tests and modules inside a file. Not seen: methods (an `impl` of a type
//! may call one of any file), bounds in strings, `#[path]`, macros with `#[macro_export]`.
//!
//! ```text
//! files of one crate --syn--> Crate { modules: path -> its uses, its items } --> (module, module it names)*
//! ```

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};

/// A module by its names from the crate's root: `["sim", "view"]`.
pub(crate) type ModulePath = Vec<String>;

/// The modules of one crate.
#[derive(Default)]
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

#[derive(Default)]
struct Module {
    /// The names that it defines, modules not among them.
    items: BTreeSet<String>,
    /// The names that it imports, and from where.
    imports: BTreeMap<String, BTreeSet<Vec<String>>>,
    /// What it imports all names of.
    globs: Vec<Vec<String>>,
    /// Every path that is written in it.
    paths: BTreeSet<Vec<String>>,
}

impl Crate {
    /// Reads files, each by its path below the crate's root: `sim/mod.rs`.
    pub(crate) fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut read = Self::default();
        for (path, text) in files {
            let file = syn::parse_file(text).with_context(|| format!("{path} is not Rust"))?;
            let mut reader = Reader { modules: &mut read.modules, at: module_of(path) };
            reader.modules.entry(reader.at.clone()).or_default();
            reader.visit_file(&file);
        }
        Ok(read)
    }

    /// Pairs of a module and one that it names.
    pub(crate) fn edges(&self) -> BTreeSet<(&ModulePath, ModulePath)> {
        let named = |(at, module): (&'_ ModulePath, &'_ Module)| -> Vec<ModulePath> {
            let imported = module.imports.values().flatten().chain(&module.globs).chain(&module.paths);
            imported.filter_map(|path| self.resolve(at, path, &mut Seen::new())).flatten().collect()
        };
        self.modules.iter().flat_map(|entry| named(entry).into_iter().map(move |to| (entry.0, to))).collect()
    }

    /// The modules that a path written in module `at` leads through: the one that it spells, then those that it is exported from, the
    /// last of which defines it. None where it is another crate's, or local.
    fn resolve(&self, at: &ModulePath, path: &[String], seen: &mut Seen) -> Option<Vec<ModulePath>> {
        let path = if path.first()? == "self" && path.get(1)? == "super" { &path[1..] } else { path };
        let climbs = path.iter().take_while(|part| *part == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(self.walk(Vec::new(), &path[1..], seen)),
            "self" => Some(self.walk(at.clone(), &path[1..], seen)),
            "super" => Some(self.walk(at[..at.len().checked_sub(climbs)?].to_vec(), &path[climbs..], seen)),
            _ => self.find(at, path, seen),
        }
    }

    /// Where the names of a path lead from a module: into modules below it, then to where the next name comes from.
    fn walk(&self, mut at: ModulePath, mut names: &[String], seen: &mut Seen) -> Vec<ModulePath> {
        while let Some((name, rest)) = names.split_first() {
            at.push(name.clone());
            if !self.modules.contains_key(&at) {
                at.pop();
                break;
            }
            names = rest;
        }
        let next = self.find(&at, names, seen).unwrap_or_default();
        [vec![at], next].concat()
    }

    /// Where an import leads: a name alone may be a module there.
    fn target(&self, at: &ModulePath, path: &[String], seen: &mut Seen) -> Option<Vec<ModulePath>> {
        let below = [at.as_slice(), path].concat();
        if path.len() == 1 && self.modules.contains_key(&below) { Some(vec![below]) } else { self.resolve(at, path, seen) }
    }

    /// Where a name without a prefix leads in a module: a module in it, its own item, an import, or one of all names of another.
    fn find(&self, at: &ModulePath, names: &[String], seen: &mut Seen) -> Option<Vec<ModulePath>> {
        let (name, rest) = names.split_first()?;
        let module = self.modules.get(at).filter(|_| seen.insert((at.clone(), name.clone())))?;
        let below = [at.as_slice(), std::slice::from_ref(name)].concat();
        // A name alone is a value or a type: a local one may be called like a module.
        if !rest.is_empty() && self.modules.contains_key(&below) {
            return Some(self.walk(below, rest, seen));
        }
        if module.items.contains(name) {
            return Some(vec![at.clone()]);
        }
        let imports = module.imports.get(name).into_iter().flatten();
        let mut found: Vec<ModulePath> =
            imports.filter_map(|import| self.target(at, &[import.as_slice(), rest].concat(), seen)).flatten().collect();
        for glob in &module.globs {
            let target = self.target(at, glob, seen).and_then(|mut path| path.pop());
            found.extend(target.and_then(|target| self.find(&target, names, seen)).unwrap_or_default());
        }
        (!found.is_empty()).then_some(found)
    }
}

/// Where a search for a name has been: exports of exports can lead in a circle.
type Seen = BTreeSet<(ModulePath, String)>;

/// The module that a file below a crate's root is.
fn module_of(path: &str) -> ModulePath {
    let mut names: ModulePath = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

struct Reader<'a> {
    modules: &'a mut BTreeMap<ModulePath, Module>,
    at: ModulePath,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        self.modules.entry(self.at.clone()).or_default()
    }

    fn import(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [prefix, &[name.unraw().to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.import(&with(&path.ident), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(prefix, tree)),
            syn::UseTree::Glob(_) => self.module().globs.push(prefix.to_vec()),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let own = prefix.last().cloned().unwrap_or_default();
                self.module().imports.entry(own).or_default().insert(prefix.to_vec());
            }
            syn::UseTree::Name(name) => {
                self.module().imports.entry(name.ident.to_string()).or_default().insert(with(&name.ident));
            }
            syn::UseTree::Rename(rename) => {
                let from = if rename.ident == "self" { prefix.to_vec() } else { with(&rename.ident) };
                self.module().imports.entry(rename.rename.to_string()).or_default().insert(from);
            }
        }
    }

    /// Paths in what a macro is given, which no parser knows the grammar of.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut defines = false;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if defines {
                        self.module().items.insert(ident.unraw().to_string());
                    }
                    defines = ["struct", "enum", "trait", "type", "fn", "const", "static"].iter().any(|word| ident == word);
                    if colons != 2 {
                        self.written(std::mem::take(&mut path));
                    }
                    path.push(ident.unraw().to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    // `use crate::{a, b}` of what a macro expands to.
                    let tree = syn::parse2::<syn::UseTree>(TokenTree::Group(group.clone()).into());
                    if let Some(tree) = tree.ok().filter(|_| colons == 2) {
                        self.import(&path, &tree);
                    }
                    self.tokens(group.stream());
                    colons = 0;
                }
                _ => colons = 0,
            }
        }
        self.written(path);
    }

    /// Paths in strings, however deep: `#[cfg_attr(test, serde(with = "super::seconds"))]`.
    fn strings(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.strings(group.stream()),
                TokenTree::Literal(literal) => {
                    let text = syn::parse_str::<syn::LitStr>(&literal.to_string());
                    if let Ok(path) = text.and_then(|text| text.parse::<syn::Path>()) {
                        self.visit_path(&path);
                    }
                }
                _ => {}
            }
        }
    }

    fn written(&mut self, path: Vec<String>) {
        if !path.is_empty() {
            self.module().paths.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_some() {
            self.at.push(module.ident.unraw().to_string());
            self.module();
            visit::visit_item_mod(self, module);
            self.at.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&[], &item.tree);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let name = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Fn(item) => Some(&item.sig.ident),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Macro(item) => item.ident.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.module().items.insert(name.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.written(path.segments.iter().map(|part| part.ident.unraw().to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    /// `#[serde(with = "super::seconds")]` names a function, too.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let syn::Meta::List(list) = &attribute.meta else { return };
        self.tokens(list.tokens.clone());
        self.strings(list.tokens.clone());
    }
}

//! Kubernetes clusters while a file is validated: interned words, images, and the capacity left on each node.

use std::collections::BTreeMap;

use super::{CheckCtx, Names};
use crate::ids::{NodeId, NodeKey, TiVec, ZoneId};
use crate::kube::gardener::Seed;
use crate::kube::labels::{Symbol, WELL_KNOWN};
use crate::kube::taints::are_tolerated;
use crate::kube::{Image, KubeClusterSpec, NodeSpec, Resources, Workload};
use crate::source::Input;

/// Nodes of all seeds at the start.
pub(crate) const MAX_NODES: usize = 4_000;
/// Machines of all seeds at one time.
pub(crate) const MAX_MACHINES: u32 = 20_000;
/// Shoots of a scenario, at most.
pub(crate) const MAX_SHOOTS: usize = 2_000;
/// Pods of all clusters, as far as they are known; a component without pods counts as one.
pub(crate) const MAX_PODS: u64 = 100_000;

/// The label of a node that names its worker pool.
pub(crate) const POOL: &str = "worker.gardener.cloud/pool";

/// Interned words: each has one symbol.
pub(crate) struct SymbolTable {
    pub(crate) list: TiVec<Symbol, String>,
    index: BTreeMap<String, u32>,
}

impl SymbolTable {
    fn new() -> Self {
        let mut symbols = Self { list: TiVec::new(), index: BTreeMap::new() };
        for word in WELL_KNOWN {
            symbols.symbol(word);
        }
        symbols
    }

    /// The symbol of a word; those that come first have the lowest.
    pub(crate) fn symbol(&mut self, word: &str) -> Symbol {
        if let Some(known) = self.index.get(word) {
            return Symbol(*known);
        }
        let next = self.list.len() as u32;
        self.list.push(word.to_owned());
        self.index.insert(word.to_owned(), next);
        Symbol(next)
    }
}

/// A cluster with what is needed to place pods in it.
pub(crate) struct ClusterDraft {
    /// Which of the file's seeds (or clusters) it is.
    pub(crate) entry: usize,
    /// It is a seed.
    pub(crate) hosts_shoots: bool,
    /// Nothing is wrong with it; what is placed in one that is not would be wrong for no other reason.
    pub(crate) valid: bool,
    pub(crate) cluster: KubeClusterSpec,
    pub(crate) seed: Seed,
    pub(crate) pools: Names,
    /// Names of the hosts of its control plane: what they stand for is their place in it.
    pub(crate) hosts: Names,
    /// Names of its nodes: what they stand for is a [`NodeKey`].
    pub(crate) nodes: Names,
    /// Per node.
    pub(crate) zones: TiVec<NodeKey, ZoneId>,
    /// Per node: what its pods request that are known to be there.
    pub(crate) used: TiVec<NodeKey, Resources>,
    /// Per node: volumes of these pods.
    pub(crate) volumes: TiVec<NodeKey, u32>,
    /// Shoots that it hosts.
    pub(crate) shoots: u32,
}

impl ClusterDraft {
    /// A node more, which the world has already.
    pub(crate) fn add_node(&mut self, spec: NodeSpec, zone: ZoneId) {
        self.cluster.nodes.push(spec);
        self.zones.push(zone);
        self.used.push(Resources::default());
        self.volumes.push(0);
    }

    /// Whether a pod of the workload may be on a node, by its taints and labels.
    pub(crate) fn suits(&self, workload: &Workload, node: NodeKey) -> bool {
        self.admits(workload, node) && self.tolerates(workload, node)
    }

    /// Whether a pod of the workload may be on a node by its labels.
    pub(crate) fn admits(&self, workload: &Workload, node: NodeKey) -> bool {
        workload.affinity.admits(&self.cluster.nodes[node].template.labels)
    }

    /// Whether a pod of the workload may be on a node by its taints.
    pub(crate) fn tolerates(&self, workload: &Workload, node: NodeKey) -> bool {
        are_tolerated(&self.cluster.nodes[node].template.taints, &workload.tolerations)
    }

    /// Whether there is room for a pod of the workload on a node.
    pub(crate) fn has_capacity(&self, workload: &Workload, node: NodeKey) -> bool {
        let template = &self.cluster.nodes[node].template;
        self.used[node].plus(&workload.requests).fits(&template.allocatable)
            && (workload.volume.is_none() || self.volumes[node] < template.volumes)
    }

    /// A pod of the workload is on a node.
    pub(crate) fn take(&mut self, workload: &Workload, node: NodeKey) {
        self.used[node] = self.used[node].plus(&workload.requests);
        self.volumes[node] += u32::from(workload.volume.is_some());
    }

    /// The node of a zone that suits the workload, has room and the fewest pods: the first of these, none of `taken`.
    pub(crate) fn least_used(&self, workload: &Workload, zone: ZoneId, taken: &[NodeKey]) -> Option<NodeKey> {
        let nodes = self.zones.keys().filter(|node| self.zones[*node] == zone);
        let fitting =
            nodes.filter(|node| !taken.contains(node) && self.suits(workload, *node) && self.has_capacity(workload, *node));
        fitting.min_by_key(|node| self.used[*node].pods)
    }

    /// The machine behind a node.
    pub(crate) fn machine(&self, node: NodeKey) -> NodeId {
        self.cluster.nodes[node].node
    }
}

/// All Kubernetes clusters of a file, and what they share.
pub(crate) struct ClusterDrafts {
    pub(crate) symbols: SymbolTable,
    pub(crate) images: BTreeMap<(String, u64), u16>,
    pub(crate) clusters: Vec<ClusterDraft>,
    pub(crate) pods: u64,
    pub(crate) inputs: Vec<Input>,
    /// Stocks of machines, by type and zone.
    pub(crate) stocks: BTreeMap<(String, ZoneId), u16>,
}

impl ClusterDrafts {
    pub(crate) fn new() -> Self {
        let (images, stocks) = (BTreeMap::new(), BTreeMap::new());
        Self { symbols: SymbolTable::new(), images, clusters: Vec::new(), pods: 0, inputs: Vec::new(), stocks }
    }

    /// The stock that machines of a type come from in a zone; `None`: there are always more.
    pub(crate) fn stock(&self, machine: &str, zone: ZoneId) -> Option<u16> {
        self.stocks.get(&(machine.to_owned(), zone)).copied()
    }

    /// The image of a component: the same for all components of that name and size.
    pub(crate) fn image(&mut self, name: &str, bytes: u64) -> Image {
        let next = self.images.len() as u16;
        Image { id: *self.images.entry((name.to_owned(), bytes)).or_insert(next), bytes }
    }

    /// Accounts for pods; too many are refused, and must not be made.
    pub(crate) fn has_pod_capacity(&mut self, ctx: &mut CheckCtx<'_>, path: &str, pods: u64) -> bool {
        let before = self.pods;
        self.pods = before.saturating_add(pods.max(1));
        if before <= MAX_PODS && self.pods > MAX_PODS {
            ctx.error(path, format!("more than {MAX_PODS} pods, or components"), format!("at most {MAX_PODS} in all"));
        }
        self.pods <= MAX_PODS
    }
}

//! Processes on hosts.

/// Why a process stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// It received SIGKILL.
    Killed,
    /// It received SIGTERM.
    Stopped,
    /// Its node has no power.
    PowerLost,
    /// Its volume is gone.
    VolumeLost,
    /// It was removed from the cluster.
    Removed,
    /// Its volume was detached under it.
    VolumeDetached,
    /// Another serves in its place.
    Replaced,
}

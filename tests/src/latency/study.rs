//! Simulated against published, row by row and pair by pair.

use std::fmt::Write as _;

use super::laboratory::INPUTS;
use super::row::{Row, parse};
use super::{Bench, Figures};
use crate::inputs::Input;

/// Of a single client: throughput and latency.
const SINGLE: f64 = 0.20;
/// Of several: throughput.
const SATURATED: f64 = 0.35;
/// Published differences between topologies that must come out the same way.
const CLEAR: f64 = 0.10;
/// What is less apart is alike.
const TIE: f64 = 0.005;

/// A file, sorted.
#[derive(Clone, Debug)]
pub struct Study {
    /// What its rows have in common.
    pub bench: Bench,
    /// Rows to be simulated.
    pub kept: Vec<Row>,
    /// Rows whose figures contradict each other, simulated for information.
    pub left_out: Vec<Row>,
}

/// A study and what came out, in the order of [`Study::rows`].
#[derive(Clone, Debug)]
pub struct Results {
    study: Study,
    simulated: Vec<Figures>,
}

/// Two rows that differ in the cluster alone.
struct Pair<'a> {
    a: &'a Row,
    b: &'a Row,
    /// Throughput of `a` over that of `b`, less one.
    published: f64,
    simulated: f64,
}

impl Study {
    /// Reads a file.
    ///
    /// # Errors
    /// What is not understood.
    pub fn of(text: &str) -> Result<Self, String> {
        let rows = parse(text)?;
        let bench = Bench::of(&rows)?;
        let (kept, left_out) = rows.into_iter().partition(Row::is_consistent);
        Ok(Self { bench, kept, left_out })
    }

    /// The rows that are kept, then those that are left out.
    pub fn rows(&self) -> Vec<&Row> {
        self.kept.iter().chain(&self.left_out).collect()
    }

    /// With what the laboratory says, `run` doing the rows in order.
    ///
    /// # Errors
    /// Rows that do not come to an end.
    pub fn simulated(self, run: impl FnOnce(&Self) -> Vec<Result<Figures, String>>) -> Result<Results, String> {
        let simulated: Vec<_> = run(&self).into_iter().collect::<Result<_, _>>()?;
        assert_eq!(simulated.len(), self.rows().len(), "figures of every row");
        Ok(Results { study: self, simulated })
    }
}

/// Rows that inputs were fitted on.
fn fitted() -> Vec<u32> {
    INPUTS.iter().flat_map(|input| input.rows).copied().collect()
}

fn off(simulated: f64, published: f64) -> f64 {
    simulated / published - 1.0
}

impl Pair<'_> {
    fn is_asserted(&self) -> bool {
        self.a.zone == self.b.zone && self.is_clear()
    }

    fn is_clear(&self) -> bool {
        self.published.abs() > CLEAR
    }

    /// Whether it comes out the same way, and not by a hair.
    fn holds(&self) -> bool {
        (self.published > 0.0) == (self.simulated > 0.0) && !self.is_tie()
    }

    fn is_tie(&self) -> bool {
        self.simulated.abs() < TIE
    }

    /// Why a clear difference is not asserted, or does not come out.
    fn remark(&self) -> &'static str {
        let rests = fitted().contains(&self.a.line) || fitted().contains(&self.b.line);
        match (self.is_asserted(), self.holds(), rests) {
            (true, true, true) => "asserted; holds, with a row that was fitted",
            (true, true, false) => "asserted; holds",
            (true, false, _) => "asserted; **fails**",
            (false, true, _) => "the servers are in different zones; holds",
            (false, false, _) if self.is_tie() => "the servers are in different zones; alike here: unexplained",
            (false, false, _) => "the servers are in different zones; the other way round here: unexplained",
        }
    }
}

impl Results {
    fn kept(&self) -> impl Iterator<Item = (&Row, Figures)> {
        self.study.kept.iter().zip(self.simulated.iter().copied())
    }

    fn left_out(&self) -> impl Iterator<Item = (&Row, Figures)> {
        self.study.left_out.iter().zip(self.simulated.iter().copied().skip(self.study.kept.len()))
    }

    /// Every two kept rows that asked the same of different topologies, the more distributed one second.
    fn pairs(&self) -> Vec<Pair<'_>> {
        let rows: Vec<_> = self.kept().collect();
        let pairs = rows.iter().flat_map(|a| rows.iter().map(move |b| (a, b)));
        let rank = |row: &Row| row.topology as u8;
        pairs
            .filter(|((a, _), (b, _))| a.asks_the_same(b) && rank(a) < rank(b))
            .map(|((a, of_a), (b, of_b))| Pair { a, b, published: off(a.qps, b.qps), simulated: off(of_a.qps, of_b.qps) })
            .collect()
    }

    /// Rows of the file, those left out included.
    pub fn count(&self) -> usize {
        self.simulated.len()
    }

    /// What is out of its bound, or in the wrong order.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for (row, figures) in self.kept() {
            let (qps, latency) = (off(figures.qps, row.qps), off(figures.latency_ms, row.latency_ms));
            let within = if row.clients == 1 { qps.abs().max(latency.abs()) <= SINGLE } else { qps.abs() <= SATURATED };
            if !within {
                let (words, Figures { qps: found, latency_ms }) = (row.describe(), figures);
                failures.push(format!(
                    "line {}: {words}: {found:.2}/s at {latency_ms:.3} ms, published {}/s at {} ms",
                    row.line, row.qps, row.latency_ms
                ));
            }
        }
        for pair in self.pairs().iter().filter(|pair| pair.is_asserted() && !pair.holds()) {
            let (a, b) = (pair.a, pair.b);
            failures.push(format!("lines {} and {} are in the wrong order: {} | {}", a.line, b.line, a.describe(), b.describe()));
        }
        failures
    }

    /// All of it, in Markdown.
    pub fn markdown(&self) -> String {
        [Self::inputs(), self.common(), self.table(), self.order(), self.unexplained()].join("\n")
    }

    fn inputs() -> String {
        let rows: Vec<String> = INPUTS.iter().map(Input::markdown).collect();
        format!(
            "### What is put in\n\nOne set of inputs for all rows.\n\n| input | value | label | source | fitted on |\n|---|---|---|---|---|\n{}\n",
            rows.join("\n")
        )
    }

    fn common(&self) -> String {
        let bench = &self.study.bench;
        let reads: Vec<String> = bench.reads.iter().map(|(zone, ms)| format!("{ms:.2} ms to {zone}")).collect();
        let keys: Vec<String> = bench.keys.iter().map(|(bytes, count)| format!("{count} of {bytes} B")).collect();
        let mut text = format!(
            "### What is inferred from the rows\n\nThe client is in **{}**: a single client's local read takes {}. A range over all keys reads the keys \
             that the largest put benchmark of that value size wrote: {}. With three zones the leader is in the client's zone, unless the row asks a \
             follower in that zone.\n\n### Rows left out\n\nIn a closed loop, throughput times latency is the number of clients. In these rows it is more \
             than 10 % off.\n\n\
             | line | row | published | off | simulated, for information |\n|---|---|---|---|---|\n",
            bench.zones[bench.client],
            reads.join(", "),
            keys.join(", ")
        );
        for (row, Figures { qps, latency_ms }) in self.left_out() {
            let (off, words, published) = (row.little() * 100.0, row.describe(), format!("{}/s, {} ms", row.qps, row.latency_ms));
            let _ = writeln!(text, "| {} | {words} | {published} | {off:+.0} % | {qps:.2}/s, {latency_ms:.1} ms |", row.line);
        }
        text
    }

    fn table(&self) -> String {
        let mut text = "### Rows\n\nA single client: throughput and latency within 20 %. Several: throughput within 35 %. Fitted rows are no \
             validation.\n\n| line | row | published | simulated | throughput | latency | |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
        for (row, Figures { qps, latency_ms }) in self.kept() {
            let (of_qps, of_latency) = (off(qps, row.qps) * 100.0, off(latency_ms, row.latency_ms) * 100.0);
            let basis = if fitted().contains(&row.line) { "fitted" } else { "validated" };
            let published = format!("{:.4}/s, {} ms", row.qps, row.latency_ms);
            let _ = writeln!(
                text,
                "| {} | {} | {published} | {qps:.4}/s, {latency_ms:.3} ms | {of_qps:+.1} % | {of_latency:+.1} % | {basis} |",
                row.line,
                row.describe()
            );
        }
        let worst = |single: bool| {
            let rows = self.kept().filter(|(row, _)| (row.clients == 1) == single && !fitted().contains(&row.line));
            rows.map(|(row, figures)| off(figures.qps, row.qps).abs() * 100.0).fold(0.0, f64::max)
        };
        let validated = self.kept().filter(|(row, _)| !fitted().contains(&row.line)).count();
        let _ = writeln!(
            text,
            "\n{validated} rows are validated. Worst throughput of those: {:.1} % of a single client, {:.1} % of several.",
            worst(true),
            worst(false)
        );
        text
    }

    fn order(&self) -> String {
        let mut text = "### Order of topologies\n\nPairs of rows that asked the same of different topologies and are published more than 10 % apart. \
             Asserted where the server zones are equal.\n\n| lines | rows | published | simulated | |\n|---|---|---|---|---|\n"
            .to_owned();
        for pair in self.pairs().iter().filter(|pair| pair.is_clear()) {
            let Pair { a, b, published, simulated } = pair;
            let (published, simulated) = (published * 100.0, simulated * 100.0);
            let (words, of_b) = (a.describe(), b.describe());
            let remark = pair.remark();
            let _ =
                writeln!(text, "| {}, {} | {words}; {of_b} | {published:+.1} % | {simulated:+.1} % | {remark} |", a.line, b.line);
        }
        text
    }

    fn unexplained(&self) -> String {
        let pairs = self.pairs();
        let close = pairs.iter().filter(|pair| !pair.is_clear()).count();
        let wrong = pairs.iter().filter(|pair| !pair.is_clear() && !pair.is_tie() && !pair.holds()).count();
        format!(
            "### What stays unexplained\n\n- Of {close} pairs published at most 10 % apart, {wrong} come out the other way round.\n- Three members in one zone are slower than three in three zones in most \
             comparisons, though nearer to each other. The model multiplies their time per byte by a factor fitted on one row. The cause is unknown.\n\
             - Rows of 500 clients that read 1 MB (left out above) move 180 to 250 MB/s where 5 clients move 510 MB/s; no row that is kept shows what \
             limits them.\n- GEP-20 finds a leader slower than a follower under load. Here both are bound by the client's process and alike.\n\
             - A linearizable read of a single member, RANGE (l), costs as much as a serializable one, RANGE (s), in the model: 0.68 ms for 256 B and one \
             client. Published are 1.24 ms and 0.70 ms, and 0.82 ms for a put, which also waits for a disk. raft answers such a read at once, and no mechanism is known: at \
             an etcd 3.4.23 with one member, asked in turn on one machine, both take alike (medians of 3,000 each: 0.81 and 0.80 ms, 1.11 ms for a put).\n"
        )
    }
}

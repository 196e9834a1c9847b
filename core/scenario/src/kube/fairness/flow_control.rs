//! Flow schemas and priority levels together, in the order in which schemas are tried, with what every server has whether it is configured
//! or not (kubernetes/apiserver@24a394e5 `pkg/util/flowcontrol/apf_controller.go`, `digestFlowSchemasLocked`, `imaginePL`; order:
//! `pkg/util/apihelpers/helpers.go`, `FlowSchemaSequence`).

use super::bootstrap::{self, Release};
use super::{CATCH_ALL, EXEMPT, Excess, FlowSchema, InvalidQueuing, LevelId, PriorityLevel, SchemaId};
use crate::ids::{TiSlice, TiVec};

/// The whole configuration of an API server: mandatory objects are there, and every schema's level is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowControl {
    schemas: TiVec<SchemaId, FlowSchema>,
    levels: TiVec<LevelId, PriorityLevel>,
    /// The level of each schema.
    references: TiVec<SchemaId, LevelId>,
}

/// Why an API server cannot be configured like this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// Two levels, or two schemas, have this name.
    Duplicate(String),
    /// The schema refers to a level that does not exist. (A real server ignores such a schema, and says so in its status.)
    Dangling {
        /// Name of the schema.
        schema: String,
        /// Name of the level.
        level: String,
    },
    /// The schema's precedence is not within 1 and 10,000, or it is 1 and the schema is not [`EXEMPT`].
    Precedence(String),
    /// The level without a limit is not [`EXEMPT`], or that level has one.
    Exempt(String),
    /// The level lends more than it has.
    Lendable(String),
    /// The level's queues cannot be as configured.
    Queuing(String, InvalidQueuing),
}

impl FlowControl {
    /// The configuration with these objects, and with the mandatory ones that are not among them.
    ///
    /// # Errors
    /// Everything that is invalid: levels in the given order, then schemas in the order in which they are tried.
    pub fn new(levels: Vec<PriorityLevel>, schemas: Vec<FlowSchema>) -> Result<Self, Vec<Invalid>> {
        let levels = with_missing(levels, bootstrap::mandatory_levels(), |level| &level.name);
        let mut schemas = with_missing(schemas, bootstrap::mandatory_schemas(), |schema| &schema.name);
        schemas.sort_by(|one, other| (one.precedence, &one.name).cmp(&(other.precedence, &other.name)));
        let mut invalid: Vec<Invalid> = levels.iter().filter_map(check_level).collect();
        invalid.extend(schemas.iter().filter_map(check_schema));
        invalid.extend(duplicates(levels.iter().map(|level| &level.name)));
        invalid.extend(duplicates(schemas.iter().map(|schema| &schema.name)));
        let mut references = TiVec::with_capacity(schemas.len());
        for schema in &schemas {
            match levels.iter().position(|level| level.name == schema.level) {
                Some(level) => references.push(LevelId::from(level)),
                None => invalid.push(Invalid::Dangling { schema: schema.name.clone(), level: schema.level.clone() }),
            }
        }
        if invalid.is_empty() { Ok(Self { schemas: schemas.into(), levels: levels.into(), references }) } else { Err(invalid) }
    }

    /// The configuration of a new cluster.
    pub fn of_new_cluster(release: Release) -> Self {
        Self::new(bootstrap::suggested_levels(), bootstrap::suggested_schemas(release)).expect("the defaults are valid")
    }

    /// The same with the schema and the level of [`bootstrap::kubernetes_endpoints`].
    pub fn with_kubernetes_endpoints(release: Release) -> Self {
        let (level, schema) = bootstrap::kubernetes_endpoints();
        let levels = [bootstrap::suggested_levels(), vec![level]].concat();
        Self::new(levels, [bootstrap::suggested_schemas(release), vec![schema]].concat()).expect("it is valid")
    }

    /// Its flow schemas, in the order in which they are tried.
    pub fn schemas(&self) -> &TiSlice<SchemaId, FlowSchema> {
        &self.schemas
    }

    /// Its priority levels.
    pub fn levels(&self) -> &TiSlice<LevelId, PriorityLevel> {
        &self.levels
    }

    /// The level of a schema.
    pub fn level_of(&self, schema: SchemaId) -> LevelId {
        self.references[schema]
    }

    /// The schema of requests that none matches ([`CATCH_ALL`]).
    pub fn catch_all(&self) -> SchemaId {
        self.schemas.position(|schema| schema.name == CATCH_ALL).expect("it is mandatory")
    }
}

fn with_missing<T>(mut given: Vec<T>, mandatory: Vec<T>, name: impl Fn(&T) -> &String) -> Vec<T> {
    for object in mandatory {
        if !given.iter().any(|other| name(other) == name(&object)) {
            given.push(object);
        }
    }
    given
}

fn duplicates<'a>(names: impl Iterator<Item = &'a String> + Clone) -> Vec<Invalid> {
    let earlier = |at: usize, name: &String| names.clone().take(at).any(|other| other == name);
    names.clone().enumerate().filter(|(at, name)| earlier(*at, name)).map(|(_, name)| Invalid::Duplicate(name.clone())).collect()
}

fn check_level(level: &PriorityLevel) -> Option<Invalid> {
    let name = || level.name.clone();
    if (level.name == EXEMPT) != (level.excess == Excess::Executes) {
        return Some(Invalid::Exempt(name()));
    }
    if level.lendable_percent > 100 {
        return Some(Invalid::Lendable(name()));
    }
    let Excess::Waits(queuing) = level.excess else { return None };
    queuing.check().err().map(|why| Invalid::Queuing(name(), why))
}

fn check_schema(schema: &FlowSchema) -> Option<Invalid> {
    let first = if schema.name == EXEMPT { 1 } else { 2 };
    let is_valid = (first..=FlowSchema::LAST_PRECEDENCE).contains(&schema.precedence);
    (!is_valid).then(|| Invalid::Precedence(schema.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::Queuing;
    use super::*;

    fn level(name: &str, excess: Excess) -> PriorityLevel {
        PriorityLevel { name: name.to_owned(), shares: 10, lendable_percent: 0, borrowing_limit_percent: None, excess }
    }

    fn schema(name: &str, level: &str, precedence: u32) -> FlowSchema {
        FlowSchema { name: name.to_owned(), level: level.to_owned(), precedence, distinguisher: None, rules: Vec::new() }
    }

    #[test]
    fn mandatory_objects_are_always_there_and_schemas_are_ordered_by_precedence_then_name() {
        let levels = vec![level("low", Excess::IsRejected)];
        let schemas = vec![schema("b", "low", 20), schema("a", "low", 20), schema("z", "exempt", 10)];
        let flow_control = FlowControl::new(levels, schemas).expect("it is valid");
        let order: Vec<&str> = flow_control.schemas().iter().map(|schema| schema.name.as_str()).collect();
        assert_eq!(order, ["exempt", "z", "a", "b", "catch-all"]);
        let levels: Vec<&str> = flow_control.levels().iter().map(|level| level.name.as_str()).collect();
        assert_eq!(levels, ["low", "catch-all", "exempt"]);
        let of = |schema: usize| flow_control.levels()[flow_control.level_of(SchemaId::from(schema))].name.as_str();
        assert_eq!([0, 1, 2, 3, 4].map(of), ["exempt", "exempt", "low", "low", "catch-all"]);
        assert_eq!(flow_control.catch_all(), SchemaId(4));
    }

    #[test]
    fn everything_invalid_is_found_at_once() {
        let queuing = Queuing { queues: 4, hand_size: 5, queue_length_limit: 50 };
        let levels = vec![
            PriorityLevel { lendable_percent: 101, ..level("lends", Excess::IsRejected) },
            level("queues", Excess::Waits(queuing)),
            level("free", Excess::Executes),
            level("lends", Excess::IsRejected),
        ];
        let schemas = vec![schema("first", "lends", 1), schema("late", "queues", 10_001), schema("lost", "nowhere", 10)];
        let found = FlowControl::new(levels, schemas).expect_err("it is not valid");
        let expected = [
            Invalid::Lendable("lends".to_owned()),
            Invalid::Queuing("queues".to_owned(), InvalidQueuing::HandTooLarge),
            Invalid::Exempt("free".to_owned()),
            Invalid::Precedence("first".to_owned()),
            Invalid::Precedence("late".to_owned()),
            Invalid::Duplicate("lends".to_owned()),
            Invalid::Dangling { schema: "lost".to_owned(), level: "nowhere".to_owned() },
        ];
        assert_eq!(found, expected);
    }

    /// Rows of apiserver `shufflesharding_test.go` (`TestNewDealer`, `TestRequiredEntropyBits`), and the other reasons.
    #[test]
    fn queues_are_checked_as_by_a_real_dealer() {
        for (queues, hand_size, queue_length_limit, expected) in [
            (0, 8, 50, Err(InvalidQueuing::Queues)),
            (100, 0, 50, Err(InvalidQueuing::HandSize)),
            (100, 101, 50, Err(InvalidQueuing::HandTooLarge)),
            (1 << 27, 2, 50, Err(InvalidQueuing::Queues)),
            (512, 8, 50, Err(InvalidQueuing::Entropy)),
            (1024, 6, 50, Ok(())),
            (1024, 6, 0, Err(InvalidQueuing::QueueLengthLimit)),
            (1025, 6, 50, Err(InvalidQueuing::Entropy)),
            (1, 1, 1, Ok(())),
        ] {
            let queuing = Queuing { queues, hand_size, queue_length_limit };
            assert_eq!(queuing.check(), expected, "{queuing:?}");
        }
        let bits = |queues, hand_size| Queuing { queues, hand_size, queue_length_limit: 1 }.required_entropy_bits();
        assert_eq!([bits(1024, 6), bits(512, 8), bits(1, 1), bits(3, 2)], [60, 72, 0, 4]);
    }

    #[test]
    fn endpoints_have_a_level_of_their_own() {
        let flow_control = FlowControl::with_kubernetes_endpoints(Release::Current);
        let at = flow_control.schemas().position(|schema| schema.name == "kubernetes-endpoints").expect("it is there");
        assert_eq!(flow_control.levels()[flow_control.level_of(at)].name, "kubernetes-endpoints");
        assert_eq!(at, SchemaId(2), "after probes, before what kubelets and controllers do");
    }
}

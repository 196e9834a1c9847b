//! Files with old names: the scenarios that came with the version before, in `tests/fixtures/v1`.

use std::path::Path;

use zonefall_core::scenario::{Scenario, bundled, modernize};

#[test]
fn a_scenario_with_old_names_means_what_the_new_file_does_and_becomes_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/v1");
    let files = std::fs::read_dir(folder).expect("the folder is there").map(|file| file.expect("a file").path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "json")).collect();
    assert_eq!(files.len(), 32);
    for file in files {
        let old = std::fs::read_to_string(&file).expect("a text");
        let read = |text| Scenario::from_json(text).unwrap_or_else(|errors| panic!("{}: {errors}", file.display()));
        let new = bundled().iter().find(|new| file.file_stem().is_some_and(|name| name == new.name)).expect("its new version");
        assert_eq!(read(&old), read(new.json), "{}: what changes in scenarios/ changes here, too", file.display());
        assert_eq!(modernize(&old).text, new.json, "{}", file.display());
    }
}

//! Shapes of members: role by shape and word, never by colour alone.

use std::f64::consts::PI;

use yew::prelude::*;

use super::model::Shape;

/// The shape around a centre, as SVG.
pub fn shape(shape: Shape, (x, y): (f64, f64)) -> Html {
    match shape {
        Shape::Leader => html! { <path class="shape leader" d={star(x, y, 7.5)} /> },
        Shape::Follower => html! { <circle class="shape follower" cx={px(x)} cy={px(y)} r="5" /> },
        Shape::Candidate => {
            html! { <path class="shape candidate" d={format!("M{x:.1} {:.1}l6 6l-6 6l-6 -6z", y - 6.0)} /> }
        }
        Shape::Learner => html! { <path class="shape learner" d={format!("M{x:.1} {:.1}l6.5 11h-13z", y - 6.5)} /> },
        Shape::Down => html! { <circle class="shape down" cx={px(x)} cy={px(y)} r="5" /> },
    }
}

/// The shape as a sign in text.
pub fn sign(shape: Shape) -> &'static str {
    match shape {
        Shape::Leader => "★",
        Shape::Follower => "●",
        Shape::Candidate => "◇",
        Shape::Learner => "△",
        Shape::Down => "○",
    }
}

fn star(x: f64, y: f64, r: f64) -> String {
    let point = |i: u32| {
        let (angle, r) = (PI / 5.0 * f64::from(i) - PI / 2.0, if i.is_multiple_of(2) { r } else { r * 0.45 });
        format!("{:.1} {:.1}", x + r * libm::cos(angle), y + r * libm::sin(angle))
    };
    format!("M{}z", (0..10).map(point).collect::<Vec<_>>().join("L"))
}

/// A length as an attribute.
pub fn px(v: f64) -> String {
    format!("{v:.1}")
}

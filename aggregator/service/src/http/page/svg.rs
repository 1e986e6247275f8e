//! A picture as inline SVG. All styles are the stylesheet's; a box is reached by the keyboard as by the mouse, and says
//! all of itself to those who do not see it.

use findings::Cause;
use findings::render::cut;
use maud::{Markup, html};

use super::chain_diagram::{Arrow, Diagram, Shape};

/// Of a box with a label of one line, and between two.
const WIDTH: usize = 320;
const HEIGHT: usize = 46;
const GAP: usize = 18;
/// Beside the boxes, for arrows that pass some.
const LANE: usize = 9;
/// So many characters of a line of a label, which is bold, and of what is below it have room; all of both is in the title.
const MAX_LINE_CHARS: usize = 39;
const MAX_STATE_CHARS: usize = 46;
const LINE_HEIGHT: usize = 16;
const MAX_LINES: usize = 3;

/// Where a box stands, from the top.
#[derive(Clone, Copy)]
struct Place {
    top: usize,
    height: usize,
}

/// Draws it, the picture of a chain down to this cause.
pub fn svg(picture: &Diagram, cause: &Cause) -> Markup {
    let lanes = picture.arrows.iter().filter_map(|arrow| arrow.lane).max().map_or(0, |lane| lane + 1);
    let left = lanes * LANE + 6;
    let labels: Vec<Vec<String>> = picture.blocks.iter().map(|block| lines(&block.label)).collect();
    let mut end = 0;
    let place = |lines: &Vec<String>| {
        let place = Place { top: end, height: HEIGHT + LINE_HEIGHT * lines.len().saturating_sub(1) };
        end += place.height + GAP;
        place
    };
    let places: Vec<Place> = labels.iter().map(place).collect();
    let width = left + WIDTH + 2;
    html! {
        svg.picture role="group" aria-label={ (cause.title) ", from what is stuck down to what holds it" }
            viewBox=(format!("0 0 {width} {end}")) width=(width) height=(end) {
            @for arrow in &picture.arrows {
                path.arrow d=(path(*arrow, left, &places)) aria-hidden="true" {}
                path.head d=(head(*arrow, left, &places)) aria-hidden="true" {}
            }
            @for (row, (block, (lines, place))) in picture.blocks.iter().zip(labels.iter().zip(&places)).enumerate() {
                @let root = if block.is_root { format!("{}: ", cause.label().to_lowercase()) } else { String::new() };
                @let told = format!("{root}{}{}{}", block.label, if block.state.is_empty() { "" } else { ": " }, block.state);
                g.block.root[block.is_root && !cause.in_use].more[block.shape == Shape::More].on-node[block.shape == Shape::OnNode]
                    tabindex="0" role="img" aria-label=(told) data-block=(row) {
                    title { (told) }
                    svg x=(left) y=(place.top) width=(WIDTH + 2) height=(place.height + 2) {
                        rect x="1" y="1" width=(WIDTH) height=(place.height) rx="6" {}
                        @for (number, line) in lines.iter().enumerate() {
                            text.label x="10" y=(19 + number * LINE_HEIGHT) { (line) }
                        }
                        text.state x="10" y=(place.height - 10) { (cut(&block.state, MAX_STATE_CHARS)) }
                    }
                }
            }
        }
    }
}

/// A label in lines, each ended where a part of a name ends, if that is near.
fn lines(label: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = label;
    while let Some((end, _)) = rest.char_indices().nth(MAX_LINE_CHARS)
        && lines.len() + 1 < MAX_LINES
    {
        let part = rest[..end].rfind(['/', ' ', '-', '.']).filter(|at| *at > end / 2).map_or(end, |at| at + 1);
        lines.push(rest[..part].to_owned());
        rest = &rest[part..];
    }
    lines.push(cut(rest, MAX_LINE_CHARS));
    lines
}

fn path(Arrow { from, to, lane }: Arrow, left: usize, places: &[Place]) -> String {
    let (from, to) = (places[from], places[to]);
    match lane {
        None => format!("M{} {}V{}", left + WIDTH / 2, from.top + from.height + 1, to.top),
        Some(lane) => {
            let (x, out, into) = (left - 4 - lane * LANE, from.top + from.height / 2, to.top + to.height / 2);
            format!("M{left} {out}H{x}V{into}H{left}")
        }
    }
}

fn head(Arrow { to, lane, .. }: Arrow, left: usize, places: &[Place]) -> String {
    let to = places[to];
    match lane {
        None => format!("M{} {}l-5 -7h10z", left + WIDTH / 2, to.top + 1),
        Some(_) => format!("M{} {}l-6 -4v8z", left + 1, to.top + to.height / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain_diagram::{diagram, tests::root};
    use super::*;

    #[test]
    fn a_long_name_is_shown_whole() {
        let name = "PersistentVolumeClaim team-payments-production/data-postgres-primary-ha-replication-0";
        let text = svg(&diagram(&root(&[&[name, "Node n"]])), findings::cause::all().next().unwrap()).into_string();
        let shown: String =
            text.split("<text class=\"label\"").skip(1).filter_map(|one| one.split(['>', '<']).nth(1)).collect();
        assert_eq!(shown, format!("{name}Node n"));
        assert_eq!(lines("Pod a"), ["Pod a"]);
    }

    #[test]
    fn names_are_words_and_nothing_else() {
        let hostile = "Pod </text><script>alert(1)</script>\"' onload=x";
        let root = root(&[&[hostile, "Node n"]]);
        let text = svg(&diagram(&root), &root.finding.cause).into_string();
        assert!(!text.contains("<script") && !text.contains("\"' onload"), "{text}");
        assert!(text.contains("&lt;script&gt;"), "{text}");
        assert!(!text.contains("style="), "the policy of the page refuses it");
    }
}

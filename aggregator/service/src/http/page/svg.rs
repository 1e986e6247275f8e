//! A picture as inline SVG. All styles are the stylesheet's; a box is reached by the keyboard as by the mouse, and says
//! all of itself to those who do not see it.

use findings::render::cut;
use maud::{Markup, html};

use super::chain_diagram::{Arrow, Diagram, Shape};

/// Of a box, and between two.
const WIDTH: usize = 320;
const HEIGHT: usize = 46;
const GAP: usize = 18;
/// Beside the boxes, for arrows that pass some.
const LANE: usize = 9;
/// So many characters of a label, which is bold, and of what is below it have room; the rest is in the title.
const MAX_LABEL_CHARS: usize = 40;
const MAX_STATE_CHARS: usize = 46;

/// Draws it. `label` says what it is a picture of.
pub fn svg(picture: &Diagram, label: &str) -> Markup {
    let lanes = picture.arrows.iter().filter_map(|arrow| arrow.lane).max().map_or(0, |lane| lane + 1);
    let left = lanes * LANE + 6;
    let (width, height) = (left + WIDTH + 2, picture.blocks.len() * (HEIGHT + GAP));
    html! {
        svg.picture role="group" aria-label=(label) viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) {
            @for arrow in &picture.arrows {
                path.arrow d=(path(*arrow, left)) aria-hidden="true" {}
                path.head d=(head(*arrow, left)) aria-hidden="true" {}
            }
            @for (row, block) in picture.blocks.iter().enumerate() {
                @let is_root = if block.is_root { "root cause: " } else { "" };
                @let told = format!("{is_root}{}{}{}", block.label, if block.state.is_empty() { "" } else { ": " }, block.state);
                g.block.root[block.is_root].more[block.shape == Shape::More].on-node[block.shape == Shape::OnNode]
                    tabindex="0" role="img" aria-label=(told) data-block=(row) {
                    title { (told) }
                    svg x=(left) y=(row * (HEIGHT + GAP)) width=(WIDTH + 2) height=(HEIGHT + 2) {
                        rect x="1" y="1" width=(WIDTH) height=(HEIGHT) rx="6" {}
                        text.label x="10" y="19" { (cut(&block.label, MAX_LABEL_CHARS)) }
                        text.state x="10" y="36" { (cut(&block.state, MAX_STATE_CHARS)) }
                    }
                }
            }
        }
    }
}

fn top(row: usize) -> usize {
    row * (HEIGHT + GAP)
}

fn path(Arrow { from, to, lane }: Arrow, left: usize) -> String {
    let (begin, end) = (top(from) + HEIGHT + 1, top(to));
    match lane {
        None => format!("M{} {begin}V{end}", left + WIDTH / 2),
        Some(lane) => {
            let (x, out, into) = (left - 4 - lane * LANE, top(from) + HEIGHT / 2, top(to) + HEIGHT / 2);
            format!("M{left} {out}H{x}V{into}H{left}")
        }
    }
}

fn head(Arrow { to, lane, .. }: Arrow, left: usize) -> String {
    match lane {
        None => format!("M{} {}l-5 -7h10z", left + WIDTH / 2, top(to) + 1),
        Some(_) => format!("M{} {}l-6 -4v8z", left + 1, top(to) + HEIGHT / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::super::chain_diagram::{diagram, tests::root};
    use super::*;

    #[test]
    fn names_are_words_and_nothing_else() {
        let hostile = "Pod </text><script>alert(1)</script>\"' onload=x";
        let text = svg(&diagram(&root(&[&[hostile, "Node n"]])), "\"><script>").into_string();
        assert!(!text.contains("<script") && !text.contains("\"' onload"), "{text}");
        assert!(text.contains("&lt;script&gt;"), "{text}");
        assert!(!text.contains("style="), "the policy of the page refuses it");
    }
}

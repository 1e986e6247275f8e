//! Where the agent's image is.

/// Its name and tag. A release sets it when it is compiled; the name of a checkout never resolves, so that no image of
/// anybody else runs with these rights.
pub fn agent_image() -> String {
    let released = option_env!("WHY_TERMINATING_AGENT_IMAGE").filter(|set| !set.is_empty());
    released
        .map_or_else(|| concat!("why-terminating.invalid/agent:", env!("CARGO_PKG_VERSION")).to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::Placeholder;

    #[test]
    fn it_stands_in_a_command_and_is_the_charts() {
        let image = super::agent_image();
        assert!(Placeholder::AgentImage.takes(&image), "{image}");
        let values = include_str!("../../deploy/chart/values.yaml");
        let (repository, _) = image.rsplit_once(':').unwrap();
        assert!(values.contains(&format!("repository: {repository}\n")), "{image}");
    }
}

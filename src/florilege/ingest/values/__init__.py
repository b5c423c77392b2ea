"""Values under paths: JSON, JSON Lines, TOML, YAML, and the front matter of other files."""

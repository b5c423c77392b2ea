"""How do parts become passages? Runs of parts, windows of tables, and slices with their provenance."""

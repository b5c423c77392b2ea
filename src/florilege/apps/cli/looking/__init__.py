"""Commands that show what would become of a file, and who would read and cut it."""

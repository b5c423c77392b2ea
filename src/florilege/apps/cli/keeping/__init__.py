"""Commands that fill a corpus, tell of it, and keep it in order."""

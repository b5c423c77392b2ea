"""The write path: prepare, stage, publish, retire, collect."""

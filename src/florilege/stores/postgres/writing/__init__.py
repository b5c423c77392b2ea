"""The write path: stage, publish, retire, collect."""

"""Readers of text formats: what each makes of decoded text."""

"""Thin views of the public verbs: the command line."""

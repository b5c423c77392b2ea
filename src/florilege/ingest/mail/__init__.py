"""Readers of mail: messages as RFC 5322 and Outlook write them, and what is attached to them."""

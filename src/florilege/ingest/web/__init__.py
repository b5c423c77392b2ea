"""Pages and files at http(s) addresses, and sites of them."""

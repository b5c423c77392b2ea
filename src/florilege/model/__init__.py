"""The records everything speaks: documents, chunks, hits, filters, ledger rows, events, errors."""

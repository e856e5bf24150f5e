"""The full-text index: a Tantivy index in a folder of its own."""

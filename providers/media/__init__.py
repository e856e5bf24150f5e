"""Media as files, named by their content."""

"""Full-text search: what a query means, how an index follows the log, how results are paged."""

"""One folder for each outside thing that SessionGraph stands on; none imports another."""

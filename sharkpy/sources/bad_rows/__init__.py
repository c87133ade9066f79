"""Records of streams that do not parse: counted, skipped, and read as what they are."""

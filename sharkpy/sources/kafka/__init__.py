"""Records of Kafka topics, as rows of streams."""

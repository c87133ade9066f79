"""Tables and their metadata: an embedded transactional store under the warehouse folder."""

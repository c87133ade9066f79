"""What statements write: rows aside first, then all targets in place together. A file for each kind of target."""

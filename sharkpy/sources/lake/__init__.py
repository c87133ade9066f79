"""Tables whose files are listed by snapshots: Iceberg and Delta. A package for each format, behind `LakeFormat`."""

"""Tables whose files are listed by snapshots: Iceberg and Delta, a package for each, with the common protocol
`LakeFormat`.
"""

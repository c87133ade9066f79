"""Row formats: encodings of the columns of a row in bytes. Hive calls them SerDes."""

"""Row formats: how the columns of a row are written in its bytes. What Hive calls a SerDe."""

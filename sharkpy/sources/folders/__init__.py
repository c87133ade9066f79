"""Folders of tables: generations of files, of which some count, in each kind of place where tables lie."""

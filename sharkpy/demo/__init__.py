"""Guided tour: real flights of 2013, loaded, cached and queried."""

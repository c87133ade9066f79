"""The guided tour: real flights of 2013, loaded, cached and asked."""

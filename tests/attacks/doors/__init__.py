"""One record replaced by a hostile one, at every door: nothing may change how another record is read."""

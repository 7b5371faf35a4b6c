"""Generated nonsense at every entry point: only documented exceptions, and no data value in any of them."""

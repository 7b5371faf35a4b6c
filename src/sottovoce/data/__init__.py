"""The doors by which data enters: declared columns, bounded rows, declared targets."""

"""The trusted base by itself."""

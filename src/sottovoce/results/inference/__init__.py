"""Where the minimizer lies, from released answers alone."""

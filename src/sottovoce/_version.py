"""The package's version, in one place."""

VERSION = "0.2.1"

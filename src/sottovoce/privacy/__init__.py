"""The trusted room: what is charged, computed and released, and how far one record can move it."""

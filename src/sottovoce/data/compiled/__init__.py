"""Reading tables in machine code, and how functions are compiled here and in `kernels`."""

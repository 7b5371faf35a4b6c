"""Processes killed with SIGKILL while they charge a ledger file, and what must hold afterwards."""

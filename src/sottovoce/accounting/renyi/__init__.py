"""Ledgers that count Renyi divergence at one order: for secret batches, which mu does not price."""

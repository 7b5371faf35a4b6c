"""Defects at random outside the trusted base, and attacks on the promise that none of them may break."""

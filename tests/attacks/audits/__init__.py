"""The audits behind docs/audit.md."""

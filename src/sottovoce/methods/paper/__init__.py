"""The methods of Gao and Wright, with their guarantees repaired."""

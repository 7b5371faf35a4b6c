"""What must be believed: a wrong line here may cost privacy, a wrong line elsewhere only accuracy."""

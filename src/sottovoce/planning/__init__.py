"""What a budget can buy, from public numbers, before any data is read."""

"""Building loops from definitions, and rehearsing them."""

"""Go, marginal or no-go before a test."""

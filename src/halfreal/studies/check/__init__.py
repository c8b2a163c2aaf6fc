"""Go or no-go before a test."""

"""What is asked of a definition before a test: go or no-go, charts, uncertainty, continuous limit."""

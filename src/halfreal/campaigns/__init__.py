"""Campaigns: a definition rehearsed at many points, by many processes, into one table."""

"""What runs and studies tell people and programs: plots, pages, text and JSON."""

"""What a run tells people: error measures, plots and the report."""

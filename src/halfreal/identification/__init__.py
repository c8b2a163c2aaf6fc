"""Models from measurements: frequency responses, rational fits, physical parameters, delays over time."""

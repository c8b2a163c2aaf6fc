"""What answers a command with a measurement: simulated actuators, specimens and sensors."""

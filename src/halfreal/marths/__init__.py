"""The maRTHS benchmark, of two actuators: its problem, criteria, published figures."""

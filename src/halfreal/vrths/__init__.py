"""The vRTHS benchmark: its problem, motions, criteria, published figures and scorecard."""

"""Motion that a nonlinear loop keeps up: limit cycles, their families over a number, periodic responses."""

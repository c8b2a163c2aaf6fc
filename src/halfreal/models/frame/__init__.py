"""Frames of finite elements that yield, integrated in the compiled loop."""

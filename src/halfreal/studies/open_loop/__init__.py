"""Bode and Nyquist plots of the open loop: as it runs, as measured, or partly measured."""

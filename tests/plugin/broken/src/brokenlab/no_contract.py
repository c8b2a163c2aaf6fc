"""A class that keeps no contract."""


class Anything:
    kind = "no contract"

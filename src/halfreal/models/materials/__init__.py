"""Uniaxial laws: of fibres, of springs and dampers, of hinges.  One file a law; ``law.py`` says what they share."""

"""What can be known of a loop before it runs: poles, margins, spectra and charts.

Every analysis returns an object with arrays, a ``summary()`` of one line and, where there is something to see, a
``plot()``.
"""

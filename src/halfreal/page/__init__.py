"""The operator's page: a test in the browser, served by a process of its own.

::

    halfreal run … --page                              the page's process                    browsers
      desk.py: status, definition ──── door ────▶  process.py ─▶ shown.py ─┐
      Operator (live/console.py) ◀──── words ────  server.py  ◀── POST ────┼──── words
      ring of rows ─────────── read only ───────▶  rows.py ─▶ history.py ──┴──▶  web socket

The loop knows nothing of it: the ring is mapped for reading only, and the operator's words go where the keys go.
``halfreal page RUN.h5`` serves the same page of a run file, for looking only (``watching.py``).
"""

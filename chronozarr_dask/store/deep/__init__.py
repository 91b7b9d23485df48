"""What only the stored bytes can show: every value that can be derived from others is derived again and compared.

The work is cut into places: one cell of a level over a run of timesteps, with the (up to four) cells below it::

    level k         level k + 1
    ┌───┬───┐
    │ 0 │ 1 │        ┌───┐          each quarter of the cell above is the block mean (mask: maximum, coverage: rounded
    ├───┼───┤   ->   │0│1│          mean) of one cell below, since a cell's edge is even
    │ 2 │ 3 │        │2│3│
    └───┴───┘        └───┘

Timesteps are taken one at a time, so a place needs the memory of a few chunks, whatever the length of its run.

    scope.py       what a worker needs to know of the store
    places.py      the cut into places, and the sample
    frames.py      one chunk: as it is stored, and its true values
    chunks.py      one chunk by itself: it decodes, padding, finite values, mask values       2.1 2.3 2.4 8
    levels.py      a place: each chunk, and each level from the one below                     2.4 2.5 6
    change.py      volatility from level 0                                                    5
    receipts.py    objects against what the journal says was stored
    found.py       problems, bounded in number
"""

"""The report of a run or of a store: `report.json`, and `report.html`, one page that needs nothing else.

::

    store --choice--> which level, window and timesteps are read      (bounded, whatever the store's size)
          --look----> what they show: observations, maps, quicklooks, stretch
          --player--> stored integers for the page, residuals left as they are
    journal, run, look --document--> report.json
    document, pictures, player --page--> report.html
    leave: both into the journal; `make_report` for any store
"""

"""``microtome studio``: a local page from a private table to synthetic rows. A skin: the library does all of it.

access.py      who may talk to it: this machine, this address, this browser
guard.py       … enforced before anything else, with the headers of every answer
receiving.py   forms and files as they come in, of a limited size
work.py        one piece of long work at a time, which can be watched and stopped
desk.py        what lies on the desk: a table, its schema, what was made of it; one change at a time
places.py      where files go: uploads to a private folder, results to one that stays
pages.py       templates, and the answers made of them
table_page.py    open a table
columns_page.py  … the draft, column by column
promise.py     what is to be promised, and what is foretold of it
promise_page.py  … the forecast under a slider, the ledger, the release
model_page.py    … fit, tune, draw
report_page.py   … how good it is
files_page.py    … everything to take away
recipe.py      the same as commands, and as Python
application.py all pages together
serving.py     started, and ended without leaving anything
"""

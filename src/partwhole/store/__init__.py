"""The store of finished cells: each is computed once and kept on disk.

A cell is one independent unit of work. Its key is the study's name, a hash of the source that the
cell depends on, and the canonical form of its configuration. On disk a cell is a folder with two
files, `arrays.npz` and `cell.json`; the second has the checksum of the first. The folder is written
under a temporary name and renamed when it is complete, so that a cell on disk is always complete,
and an interrupted run continues with the cells that are missing. A lock, which the system releases
when its process dies, lets one process compute a cell while others wait and then read it.

Where other machines compute, a single process reads with `find` and writes with `keep`, so that
nothing depends on locks between machines. A cell may have a folder of its own while it is computed
(`scratch_folder`), for checkpoints: it outlasts the process, and goes when the result is stored.
"""

from __future__ import annotations

from partwhole.store.cells import Cell as Cell
from partwhole.store.cells import canonical as canonical
from partwhole.store.cells import cell as cell
from partwhole.store.cells import commit as commit
from partwhole.store.cells import default_root as default_root
from partwhole.store.cells import digest as digest
from partwhole.store.cells import find as find
from partwhole.store.cells import fresh as fresh
from partwhole.store.cells import holds as holds
from partwhole.store.cells import keep as keep
from partwhole.store.cells import obtain as obtain
from partwhole.store.cells import scratch_folder as scratch_folder
from partwhole.store.listing import ScratchFolder as ScratchFolder
from partwhole.store.listing import StoredCell as StoredCell
from partwhole.store.listing import clear as clear
from partwhole.store.listing import scratch_folders as scratch_folders
from partwhole.store.listing import stored_cells as stored_cells
from partwhole.store.listing import sweep as sweep

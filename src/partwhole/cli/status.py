"""The command `partwhole status`, and the job script of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from partwhole._checks import require


def status(
    study: Annotated[str | None, arg(metavar="STUDY")] = None,
    store: Annotated[
        Path | None,
        arg(
            metavar="PATH",
            help="Folder of the run's cells; by default $PARTWHOLE_STORE or report/store.",
        ),
    ] = None,
) -> None:
    """Show the runs on clusters: what is computed now, what is done, and what failed.

    Args:
        study: Only the run of this study, a name or a file.
    """
    from partwhole.store import default_root
    from partwhole.study.journal import states

    root = default_root() if store is None else store
    require(not root.is_file(), "the store is a folder", f"the file {root}", "name another")
    if study is not None:
        from partwhole.study.registry import full_name

        study = Path(study).stem if study.endswith(".py") else full_name(study)
    runs = states(root, study)
    for run in runs:
        print(run.describe())
    if not runs:
        print(f"No run on a cluster is noted in {root}; `partwhole store` lists finished cells.")


def job_script(on: str | None) -> str:
    """Return the job script of an address of SLURM.

    Raises
    ------
    InputError
        For another address, or a file that describes no jobs.
    """
    from partwhole.study.clusters import parts_of
    from partwhole.study.slurm import read_jobs

    kind, place = parts_of(on) if on is not None else ("", "")
    require(
        kind == "slurm",
        "--dry-run prints the job script of SLURM",
        f"--on {on}" if on else "no --on",
        "name its file, --on slurm:FILE.toml",
    )
    return read_jobs(Path(place)).script()

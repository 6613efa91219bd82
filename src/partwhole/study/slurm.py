"""Jobs of SLURM that compute cells, as a TOML file describes them."""

from __future__ import annotations

import re
import subprocess
import time
import tomllib
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from shutil import which
from tempfile import NamedTemporaryFile
from typing import Any

from partwhole._checks import InputError, require
from partwhole.study.calls import Cluster, Machines, needs_cluster
from partwhole.study.clusters import SETTINGS, THREADS, quiet

WALLTIME = r"(\d+-)?\d{1,3}(:\d\d){1,2}"
MEMORY = r"\d+(\.\d+)? ?[KMGT]i?B"
ANSWERS_WITHIN = 60.0  # seconds, of SLURM's commands
# Worker processes read these from their environment.
EXPORTED = {
    f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(value)
    for name, value in SETTINGS.items()
    if ".worker." in name
}
_LOG_LINES = 3
FRUITLESS = 3  # jobs in turn
EVERY = 30.0  # seconds between questions to SLURM
IDLE = 600.0  # seconds that a job may run without a worker


@dataclass(frozen=True)
class Jobs:
    """Jobs of SLURM: what each asks for, and how many there are.

    Parameters
    ----------
    walltime : str
        "HH:MM:SS", with days in front as "D-HH:MM:SS".
    memory : str
        Of a job: "32GB".
    cores : int
        Of a job.
    jobs : int, default 1
        Number of jobs.
    gpus : int, default 0
        Of a job, which has a worker for each; without GPUs it has one worker.
    partition, account : str, default those of SLURM
    environment : list of str, default none
        Lines of shell that make `python` ready: modules, virtual environments.
    directives : list of str, default none
        More options of sbatch: "--constraint=a100".
    interface : str, default that of the default route
        Network interface by which jobs reach this machine: "ib0".
    python : str, default that of this process
        The interpreter of the jobs.
    logs : str, default "slurm-logs"
        Folder of the jobs' output, which is made.
    """

    walltime: str
    memory: str
    cores: int
    jobs: int = 1
    gpus: int = 0
    partition: str = ""
    account: str = ""
    environment: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()
    interface: str = ""
    python: str = ""
    logs: str = "slurm-logs"

    @property
    def workers(self) -> int:
        """Number of workers of a job."""
        return max(1, self.gpus)

    def options(self) -> dict[str, Any]:
        """Return the arguments of dask-jobqueue's SLURMCluster."""
        share = str(max(1, self.cores // self.workers))
        variables = EXPORTED | dict.fromkeys(THREADS, share)
        directives = [f"-o {self.logs}/partwhole-%j.log"]
        if self.gpus:
            directives.append(f"--gres=gpu:{self.gpus}")
        return {
            "walltime": self.walltime,
            "memory": self.memory,
            "job_cpu": self.cores,
            # A worker computes one cell at a time, on its share of the cores.
            "cores": self.workers,
            "processes": self.workers,
            "queue": self.partition or None,
            "account": self.account or None,
            "interface": self.interface or None,
            "python": self.python or None,
            "job_name": "partwhole",
            "job_extra_directives": [*directives, *self.directives],
            "job_script_prologue": [
                *(f"export {name}={value}" for name, value in variables.items()),
                *self.environment,
            ],
            "worker_extra_args": ["--no-dashboard"]
            + (["--resources", "GPU=1"] if self.gpus else []),
        }

    def script(self) -> str:
        """Return the script of a job, as dask-jobqueue writes it.

        Raises
        ------
        MissingExtraError
            If the packages of the extra "cluster" are not installed.
        """
        needs_cluster("a job script of SLURM")
        from dask_jobqueue.slurm import SLURMJob

        address = "tcp://<address of the scheduler>:<port>"
        return SLURMJob(address, name="partwhole-0", **self.options()).job_script()


_WORDS = {
    "str": "text",
    "int": "a whole number of at least {}",
    "tuple[str, ...]": "a list of texts",
}
_FORMS = {"walltime": (WALLTIME, '"04:00:00"'), "memory": (MEMORY, '"32GB"')}


def read_jobs(path: Path) -> Jobs:
    """Read jobs from a TOML file.

    Raises
    ------
    InputError
        If there is no file, it is not TOML, lacks a key, or has an unknown key or a bad value.
    """
    rule = "jobs of SLURM are described in a TOML file"
    require(path.is_file(), rule, f"no {path}", "write it")
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{rule}; got {path}: {error}; correct it") from error
    known = {field.name: field for field in fields(Jobs)}
    for name, value in table.items():
        require(
            name in known,
            f"a key for jobs of SLURM is one of {', '.join(known)}",
            f"{name!r} in {path}",
            "remove it; other options of sbatch stand in `directives`",
        )
        kind, least = str(known[name].type), int(name != "gpus")
        form, example = _FORMS.get(name, ("", ""))
        words = f"text such as {example}" if form else _WORDS[kind].format(least)
        rule = f"{name} of jobs of SLURM is {words}"
        fits = _fits(value, kind, least) and (not form or re.fullmatch(form, value))
        require(fits, rule, f"{value!r} in {path}", "correct it")
    for name, field in known.items():
        needed = field.default is MISSING and name not in table
        require(not needed, f"jobs of SLURM have the key {name}", f"none in {path}", "add it")
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in table.items()
    }
    return Jobs(**values)


def _fits(value: Any, kind: str, least: int) -> bool:
    if kind == "int":
        return type(value) is int and value >= least
    if kind == "str":
        return isinstance(value, str) and value.isprintable()
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def check(jobs: Jobs, path: Path) -> None:
    """Ask SLURM whether it would take a job, without submitting one.

    Raises
    ------
    InputError
        If there is no SLURM, or it refuses: an unknown partition, a walltime beyond its limit.
    """
    require(
        which("sbatch") is not None,
        "jobs are submitted where SLURM's sbatch is on the path",
        "none",
        "run this on a login node",
    )
    with NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(jobs.script())
        file.flush()
        answer = _asked(["sbatch", "--test-only", file.name])
    if answer.returncode:
        lines = [line for line in answer.stderr.splitlines() if line.strip()]
        said = lines[0].removeprefix("sbatch: error: ") if lines else "no reason"
        raise InputError(
            f"SLURM takes the jobs of a run; got {said!r} for {path}; correct the file, or ask "
            "`sinfo` for the partitions and their limits"
        )


def _asked(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=ANSWERS_WITHIN)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"SLURM's commands answer within {ANSWERS_WITHIN:.0f} s; got {error} from "
            f"{command[0]}; try again later"
        ) from error


def started(path: Path, address: str, patience: float) -> Cluster:
    """Return an executor on jobs of SLURM, which are submitted and end with it.

    Raises
    ------
    InputError
        As `read_jobs` and `check`.
    """
    jobs = read_jobs(path)
    needs_cluster(f"partwhole on {address}")
    check(jobs, path)
    import dask.config
    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Client

    Path(jobs.logs).mkdir(parents=True, exist_ok=True)
    quiet()
    with dask.config.set(SETTINGS):
        cluster = SLURMCluster(
            **jobs.options(),
            scheduler_options={"dashboard_address": ":0", "dashboard": False},
            silence_logs="CRITICAL",
        )
    cluster.scale(jobs=jobs.jobs)
    client = Client(cluster, set_as_default=False, timeout=patience)
    queue = _Queue(cluster, jobs.jobs, Path(jobs.logs))
    machines = Machines(
        address,
        together=jobs.workers,
        watch=queue.reason,
        renew=queue.renew,
        every=EVERY,
        close=cluster.close,
    )
    return Cluster(client, machines, patience=patience)


class _Queue:
    """The jobs of a run in the queue of SLURM, where those whose walltime has ended are replaced.

    Jobs that end before a worker of theirs is there are not replaced for ever, and one that has
    been without workers for ten minutes is cancelled.
    """

    def __init__(self, cluster: Any, jobs: int, logs: Path) -> None:
        self._cluster, self._jobs, self._logs = cluster, jobs, logs
        self._useful: set[str] = set()
        self._idle: dict[str, float] = {}
        self._fruitless = 0

    def renew(self, workers: set[str]) -> None:
        """Submit a job again for each that has left the queue."""
        jobs, now = dict(self._cluster.workers), time.monotonic()
        states = self._states()
        for name, job in jobs.items():
            if any(worker == name or worker.startswith(f"{name}-") for worker in workers):
                self._useful.add(name)
                self._fruitless = 0
            elif states.get(job.job_id) == "R":
                if now - self._idle.setdefault(name, now) > IDLE:
                    _asked(["scancel", job.job_id])
                continue
            self._idle.pop(name, None)
        for name, job in jobs.items():
            if job.job_id is None or job.job_id in states or self._fruitless >= FRUITLESS:
                continue
            self._fruitless += name not in self._useful
            self._useful.discard(name)
            self._cluster.workers.pop(name, None)
        if self._fruitless < FRUITLESS:
            self._cluster.scale(jobs=self._jobs)

    def reason(self) -> str:
        """Return why no worker is to be expected; nothing while a job is waiting or running."""
        try:
            if self._fruitless < FRUITLESS or self._states():
                return ""
        except InputError:  # SLURM is busy
            return ""
        written = sorted(self._logs.glob("partwhole-*.log"), key=lambda path: path.stat().st_mtime)
        lines = written[-1].read_text("utf-8", "replace").splitlines() if written else []
        last = " / ".join([line.strip() for line in lines if line.strip()][-_LOG_LINES:])
        return (
            f"a job of SLURM starts workers; got {self._fruitless} that ended without, the last of "
            f"which said {last or 'nothing'!r}; correct `environment` in the file of the jobs, and "
            f"see {self._logs}"
        )

    def _states(self) -> dict[str, str]:
        """Return the state of each job that is in the queue: PD waits, R runs."""
        numbers = {job.job_id for job in self._cluster.workers.values()}
        answer = _asked(["squeue", "--noheader", "--me", "--format=%i %t"])
        if answer.returncode:
            raise InputError(answer.stderr)
        lines = [line.split() for line in answer.stdout.splitlines()]
        return {line[0]: line[-1] for line in lines if line and line[0] in numbers}

# SPDX-License-Identifier: Apache-2.0
"""Scripts written for Horovod, unchanged, on Longship."""
import os
import pathlib
import subprocess
import sys

import pytest
from ranks import BOX_SIDE, ROOT

SCRIPT = pathlib.Path(__file__).parent / "scripts" / "horovod_style.py"
LAUNCH = ROOT / "build" / "bin" / "longship"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LONGSHIP")} | {"PYTHONPATH": str(BOX_SIDE / "python")}


def python(*words, **options):
    return subprocess.run([sys.executable, *map(str, words)], env=ENVIRONMENT, text=True, capture_output=True, timeout=240, **options)


@pytest.mark.parametrize("words", [[], ["--fp16-allreduce"], ["--use-adasum"]])
def test_an_unchanged_script_runs(words):
    assert "longship" not in SCRIPT.read_text().split('"""')[2]
    result = subprocess.run([LAUNCH, "launch", "-n", "2", sys.executable, "-m", "longship.horovod", SCRIPT, *words],
                            env=ENVIRONMENT, text=True, capture_output=True, timeout=240)
    assert result.returncode == 0, result.stderr
    assert "ranks 2" in result.stdout


def test_what_is_not_there_is_said(tmp_path):
    (tmp_path / "script.py").write_text("import horovod.tensorflow as hvd\n")
    result = python("-m", "longship.horovod", tmp_path / "script.py")
    assert result.returncode == 1
    assert "horovod.tensorflow is not among what Longship has of Horovod" in result.stderr


def test_the_script_sees_its_arguments_and_neighbours_as_usual(tmp_path):
    (tmp_path / "beside.py").write_text("value = 5\n")
    (tmp_path / "script.py").write_text(
        "import sys, beside, horovod\nassert __name__ == '__main__'\nprint(sys.argv[1:], beside.value, horovod.__version__)\n")
    for words in (["script.py"], ["-m", "script"]):
        result = python("-m", "longship.horovod", *words, "--x", "1", cwd=tmp_path)
        assert result.stdout == "['--x', '1'] 5 0.28.1\n", result.stderr
    assert "usage:" in python("-m", "longship.horovod").stderr


def test_every_name_of_horovod_torch_is_there():
    """The names that horovod.torch 0.28 shows, but elastic training."""
    names = """Adasum Average Compression DistributedOptimizer HorovodInternalError Max Min ProcessSet Product Sum SyncBatchNorm
        add_process_set allgather allgather_async allgather_object allreduce allreduce_ allreduce_async allreduce_async_ alltoall
        alltoall_async barrier broadcast broadcast_ broadcast_async broadcast_async_ broadcast_object broadcast_optimizer_state
        broadcast_parameters ccl_built cross_rank cross_size cuda_built ddl_built global_process_set gloo_built gloo_enabled
        grouped_allgather grouped_allgather_async grouped_allreduce grouped_allreduce_ grouped_allreduce_async
        grouped_allreduce_async_ grouped_reducescatter grouped_reducescatter_async init is_initialized join local_rank local_size
        mpi_built mpi_enabled mpi_threads_supported nccl_built poll rank reducescatter reducescatter_async remove_process_set
        rocm_built shutdown size sparse_allreduce_async start_timeline stop_timeline synchronize""".split()
    script = f"import longship.torch as hvd\nprint([name for name in {names} if not callable(getattr(hvd, name, None))])"
    result = python("-c", script)
    assert result.stdout.strip() == "['Adasum', 'Average', 'Max', 'Min', 'Product', 'Sum', 'global_process_set']", result.stderr

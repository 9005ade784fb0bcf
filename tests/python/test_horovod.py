# SPDX-License-Identifier: Apache-2.0
"""Scripts written for Horovod, unchanged, on Longship."""
import os
import pathlib
import subprocess

import pytest
from ranks import BOX_SIDE, PATIENCE, PYTHON, ROOT

SCRIPT = pathlib.Path(__file__).parent / "scripts" / "horovod_style.py"
LAUNCH = ROOT / "build" / "bin" / "longship"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LONGSHIP")} | {"PYTHONPATH": str(BOX_SIDE / "python")}


def python(*words, **options):
    return subprocess.run([PYTHON, *map(str, words)], env=ENVIRONMENT, text=True, capture_output=True, timeout=PATIENCE, **options)


@pytest.mark.parametrize("words", [[], ["--fp16-allreduce"], ["--use-adasum"]])
def test_an_unchanged_script_runs(words):
    assert "longship" not in SCRIPT.read_text().split('"""')[2]
    result = subprocess.run([LAUNCH, "launch", "-n", "2", PYTHON, "-m", "longship.horovod", SCRIPT, *words],
                            env=ENVIRONMENT, text=True, capture_output=True, timeout=PATIENCE)
    assert result.returncode == 0, result.stderr
    assert "ranks 2" in result.stdout


def test_what_is_not_there_is_said(tmp_path):
    (tmp_path / "script.py").write_text("import horovod.tensorflow as hvd\n")
    result = python("-m", "longship.horovod", tmp_path / "script.py")
    assert result.returncode == 1
    assert "horovod.tensorflow is not among what Longship has of Horovod" in result.stderr


@pytest.mark.parametrize("asked, said", [
    ("hvd.elastic.TorchState()", "horovod.torch.elastic is not among what Longship has of Horovod; ranks cannot come and go"),
    ("horovod.run(print, np=2)", "horovod.run is not among what Longship has of Horovod; start the script with longship launch"),
    ("hvd.nonsense()", "horovod.torch.nonsense is not among what Longship has of Horovod"),
])
def test_a_name_that_is_not_there_is_explained(tmp_path, asked, said):
    (tmp_path / "script.py").write_text(f"import horovod\nimport horovod.torch as hvd\nassert not hasattr(hvd, 'elastic')\n{asked}\n")
    result = python("-m", "longship.horovod", tmp_path / "script.py")
    assert result.returncode == 1
    assert f"AttributeError: {said}" in result.stderr, result.stderr


@pytest.mark.parametrize("line, said", [
    ("from horovod.torch import elastic", "ImportError: horovod.torch.elastic is not among what Longship has of Horovod; ranks cannot come"),
    ("import horovod.torch.elastic", "ImportError: horovod.torch.elastic is not among what Longship has of Horovod; ranks cannot come"),
    ("import longship.torch as hvd; hvd.elastic.run", "AttributeError: longship.torch has no elastic; ranks cannot come and go"),
    ("import longship.torch as hvd; hvd.nonsense", "AttributeError: longship.torch has no nonsense"),
])
def test_elastic_training_is_refused_with_what_there_is_instead(tmp_path, line, said):
    (tmp_path / "script.py").write_text(f"{line}\n")
    result = python("-m", "longship.horovod", tmp_path / "script.py")
    assert result.returncode == 1
    assert said in result.stderr, result.stderr


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


# What horovod.torch 0.28.1's functions take, in this order; "=" stands before a default.
TAKEN = """
allgather tensor name=None process_set=global
allgather_async tensor name=None process_set=global
allgather_object obj name=None process_set=global
allreduce tensor average=None name=None compression=none op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
allreduce_ tensor average=None name=None op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
allreduce_async tensor average=None name=None op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
allreduce_async_ tensor average=None name=None op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
alltoall tensor splits=None name=None process_set=global
alltoall_async tensor splits=None name=None process_set=global
barrier process_set=global
broadcast tensor root_rank name=None process_set=global
broadcast_ tensor root_rank name=None process_set=global
broadcast_async tensor root_rank name=None process_set=global
broadcast_async_ tensor root_rank name=None process_set=global
broadcast_object obj root_rank=0 name=None process_set=global
broadcast_optimizer_state optimizer root_rank model=None
broadcast_parameters params root_rank
grouped_allgather tensors name=None process_set=global
grouped_allgather_async tensors name=None process_set=global
grouped_allreduce tensors average=None name=None compression=none op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
grouped_allreduce_ tensors average=None name=None op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
grouped_allreduce_async tensors average=None name=None op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
grouped_allreduce_async_ tensors average=None name=None op=None prescale_factor=1.0 postscale_factor=1.0 process_set=global
grouped_reducescatter tensors name=None compression=none op=average process_set=global prescale_factor=1.0 postscale_factor=1.0
grouped_reducescatter_async tensors name=None op=average process_set=global prescale_factor=1.0 postscale_factor=1.0
init comm=None process_sets=None
join device=-1
poll handle
reducescatter tensor name=None compression=none op=average process_set=global prescale_factor=1.0 postscale_factor=1.0
reducescatter_async tensor name=None op=average process_set=global prescale_factor=1.0 postscale_factor=1.0
remove_process_set process_set
sparse_allreduce_async tensor name op process_set=global
start_timeline file_path mark_cycles=False
synchronize handle
DistributedOptimizer optimizer named_parameters=None compression=none backward_passes_per_step=1 op=average \
gradient_predivide_factor=1.0 num_groups=0 groups=None sparse_as_dense=False process_set=global
ProcessSet ranks_or_comm
SyncBatchNorm num_features eps=1e-05 momentum=0.1 affine=True track_running_stats=True
"""


def test_every_function_takes_what_horovods_takes():
    script = f"""
import inspect
import longship.torch as hvd
defaults = {{"global": hvd.global_process_set, "none": hvd.Compression.none, "average": hvd.Average}}
for line in {TAKEN!r}.strip().splitlines():
    name, *wanted = line.split()
    ours = list(inspect.signature(getattr(hvd, name)).parameters.values())
    for one, word in zip(ours, wanted, strict=True) if name != "SyncBatchNorm" else zip(ours, wanted):
        parameter, has_default, default = word.partition("=")
        assert one.name == parameter, (name, one, word)
        if has_default:
            assert one.default is defaults.get(default) or str(one.default) == default, (name, one, word)
print("all")
"""
    result = python("-c", script)
    assert result.stdout.strip() == "all", result.stderr

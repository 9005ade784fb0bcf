# SPDX-License-Identifier: Apache-2.0
"""What `longship report` makes of a real training: the slow rank is named, and communication beneath computation is seen."""
import json
import subprocess

from ranks import BOX_SIDE
from test_operations import HEADER

LONGSHIP = BOX_SIDE.parents[1] / "bin" / "longship"


def test_a_slow_rank_is_named_with_what_it_cost_the_others(ranks, tmp_path):
    record = tmp_path / "record"
    ranks.run(
        HEADER
        + """
import time
import longship
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)])
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), model.named_parameters())
for step in range(15):
    if rank == 2:
        time.sleep(0.03)
    optimizer.zero_grad()
    model(torch.ones(8, 256)).sum().backward()
    optimizer.step()
    longship.progress(step + 1, 15, loss=0.5)
""",
        3,
        LONGSHIP_RECORD=str(record),
        LONGSHIP_BUCKET=str(1 << 18),
    )
    said = subprocess.run([LONGSHIP, "report", record], capture_output=True, text=True, check=True).stdout
    assert "rank 2 arrived last in" in said, said
    assert "→ Rank 2 on node0 arrived last" in said, said
    report = json.loads(subprocess.run([LONGSHIP, "report", record, "--json"], capture_output=True, check=True).stdout)
    first, second, third = report["by_rank"]
    assert first["waited_for"] == second["waited_for"] == 2
    assert third["others_waited_seconds"] > 10 * (first["others_waited_seconds"] + second["others_waited_seconds"])
    assert all(rank["hidden_seconds"] > 0 for rank in report["by_rank"])
    assert 0 < report["recording"]["seconds"] < 0.01 * 3 * report["interval_seconds"]

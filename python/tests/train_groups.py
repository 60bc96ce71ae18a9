"""Four ranks in two rows and two columns reduce within their row, within their column and among all, over gloo.
usage: torchrun --nproc-per-node 4 train_groups.py FOLDER"""

import sys

import lumos
import torch
import torch.distributed as dist


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    # Every rank makes every group, in one order.
    rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    row, column = rows[rank // 2], columns[rank % 2]
    weight, gradient = torch.randn(192, 192), torch.randn(384, 192)
    with lumos.profiler.profile(sys.argv[1], wait=2, warmup=1, steps=4, quiet=True) as profiler:
        for _ in range(7):
            x = torch.randn(128, 192)
            for _ in range(4):
                x = torch.tanh(x @ weight)
                dist.all_reduce(x, group=row)
            # Two queues at once: the first to be called need not be the first to run.
            waiting = [dist.all_reduce(gradient.clone(), group=column, async_op=True),
                       dist.all_reduce(torch.ones(8), async_op=True)]
            x = x @ weight
            for work in waiting:
                work.wait()
            profiler.step()
    dist.destroy_process_group()


main()

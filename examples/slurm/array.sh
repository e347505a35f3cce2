#!/bin/sh
#SBATCH --job-name=bogrape
#SBATCH --array=1-8
#SBATCH --time=04:00:00
#SBATCH --cpus-per-task=1
#SBATCH --output=task-%a.log
#SBATCH --open-mode=append

# Each task proposes and evaluates graphs until the budget in study.toml is spent. A task that is
# stopped (time limit, node failure) finishes its trial when it is submitted again under the same
# name. To see the progress of the study:   bogrape status study.toml
exec bogrape run study.toml --worker "task-$SLURM_ARRAY_TASK_ID"

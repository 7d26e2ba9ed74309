#!/bin/sh
# Brings the pinned compiler wheels (311 MB) into the git-ignored build/cuda. Needs pip; does nothing if they are there.
set -eu
cd "$(dirname "$0")/../.."
if [ -d build/cuda/nvidia_cuda_nvrtc_cu12-12.8.93.dist-info ] &&
   [ -d build/cuda/nvidia_cuda_runtime_cu12-12.8.90.dist-info ] &&
   [ -d build/cuda/nvidia_cuda_nvcc_cu12-12.8.93.dist-info ]; then
	exit 0
fi
pip install --quiet --no-deps --target build/cuda \
	nvidia-cuda-nvrtc-cu12==12.8.93 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-nvcc-cu12==12.8.93

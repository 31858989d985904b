"""nvidia-smi in its forms: `-q -x`, `-q`, `--query-gpu=… --format=csv`, and what it says instead when it fails."""

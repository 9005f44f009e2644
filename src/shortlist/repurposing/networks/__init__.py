"""Boolean networks of genes: logic, files, dynamics, attractors, fixed points and inference."""

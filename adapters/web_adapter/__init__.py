"""The web page: server-rendered, complete without JavaScript, the same chat behind it as everywhere else."""

"""What wakes an operator: something is wrong, never what somebody wrote."""

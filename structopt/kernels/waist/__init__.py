"""What all kernels agree on: records, signatures, targets, visits, passes."""

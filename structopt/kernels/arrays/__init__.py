"""Operations on arrays that several families of kernels use."""

"""Addresses that kernels remember: those that Numba would find, and found once."""

import numpy as np
from numba.experimental.function_type import _get_jit_address, _get_wrapper_address

from structopt.kernels.chain import linear_chain, single_variable
from structopt.kernels.waist.addresses import remember
from structopt.kernels.waist.signatures import SOLVE, VECTOR, kernel


def test_each_kernel_has_its_own_address():
    found = []
    for solve in (linear_chain.solve, single_variable.solve):
        result = next(iter(solve.overloads.values()))
        known = solve.get_compile_result(SOLVE)
        assert known.library.get_pointer_to_function(known.fndesc.llvm_func_name) == _address(
            result
        )
        assert _get_jit_address(solve, SOLVE) == _address(result)
        found += [_get_jit_address(solve, SOLVE), _get_wrapper_address(solve, SOLVE)]
    assert len(set(found)) == 4


def test_what_is_not_an_address_is_that_of_the_compiled_kernel():
    @kernel(VECTOR(VECTOR))
    def same(x):
        return x

    result = next(iter(same.overloads.values()))
    known = same.get_compile_result(None)
    assert known.signature is result.signature
    assert known.library.name == result.library.name
    assert same(np.ones(2)).sum() == 2.0


def test_functions_without_one_signature_stay_as_they_are():
    class Several:
        overloads = {1: None, 2: None}

    remember(Several)
    assert not hasattr(Several, "get_compile_result")


def _address(result):
    return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)

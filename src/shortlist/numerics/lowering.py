"""Functions that only compiled code calls: lowered to LLVM's language, and compiled within their callers.

Numba optimises every function and makes machine code of it, then links it into each caller and optimises
it again there. What only compiled code calls needs no machine code of its own: leaving that out takes
a third off the time to compile. This file and ``cache.py`` lean on private classes of Numba. Where this one
cannot import them, or with SHORTLIST_PLAIN_NUMBA set, each function is compiled by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, _LowerResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.registry import CPUDispatcher
    from numba.core.typed_passes import NativeLowering
except ImportError:
    AVAILABLE = False
else:
    AVAILABLE = "SHORTLIST_PLAIN_NUMBA" not in os.environ

    class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
        """A function and all that it calls, neither optimised as a whole nor made machine code."""

        def finalize(self) -> None:
            """Link in what the function calls, once each."""
            for library in dict.fromkeys(self._linking_libraries):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalized = True

    # What these look for is in no function of this package: closures, objects, literals, array expressions.
    # Each of them goes through the whole function: together they take a fifth of the time.
    NOT_NEEDED = {
        "AnnotateTypes",
        "DumpParforDiagnostics",
        "FindLiterallyCalls",
        "InlineClosureLikes",
        "InlineInlinables",
        "InlineOverloads",
        "LiteralPropagationSubPipelinePass",
        "LiteralUnroll",
        "MakeFunctionToJitFunction",
        "NopythonRewrites",
        "RewriteDynamicRaises",
        "WithLifting",
    }

    @register_pass(mutates_CFG=True, analysis_only=False)
    class PartLowering(NativeLowering):  # type: ignore[misc]
        """Numba's lowering, without the machine code."""

        _name = "part_lowering"

        def run_pass(self, state: Any) -> bool:
            """Lower the function and register it for its callers."""
            codegen = state.targetctx.codegen()
            state.library = PartLibrary(codegen, state.func_id.func_qualname)
            state.flags.no_compile = True
            super().run_pass(state)
            state.library.finalize()
            lowered, name = state["cr"], state.func_id.func_qualname

            def only_within(*arguments: Any) -> None:
                raise TypeError(f"{name} was compiled for compiled callers only")

            state.targetctx.insert_user_function(only_within, lowered.fndesc, [state.library])
            state["cr"] = _LowerResult(
                lowered.fndesc, lowered.call_helper, cfunc=only_within, env=lowered.env
            )
            return True

    class PartCompiler(Compiler):  # type: ignore[misc]
        """Numba's pipeline with that lowering."""

        def define_pipelines(self) -> list[Any]:
            """The pipeline of Numba, its lowering replaced."""
            pipelines = super().define_pipelines()
            for pipeline in pipelines:
                pipeline.passes = [
                    (PartLowering if each is NativeLowering else each, words)
                    for each, words in pipeline.passes
                    if each.__name__ not in NOT_NEEDED
                ]
                pipeline._finalized = False
                pipeline.finalize()
            return pipelines

    class Part(CPUDispatcher):  # type: ignore[misc]
        """A function that has no machine code to call from Python."""

        def add_overload(self, cres: Any) -> None:
            """Register what was lowered, for callers that are compiled."""
            self.overloads[tuple(cres.signature.args)] = cres


def part_of(function: Callable[..., Any], signature: Any | None, options: dict[str, Any]) -> Any:
    """The function for compiled callers."""
    options = {**options, "no_cfunc_wrapper": True}
    if AVAILABLE:
        options |= {"nopython": True, "boundscheck": None, "no_cpython_wrapper": True}
        made = Part(function, targetoptions=options, pipeline_class=PartCompiler)
    else:
        made = numba.njit(**options)(function)
    if signature is not None:
        made.compile(signature)
        made.disable_compile()
    return made

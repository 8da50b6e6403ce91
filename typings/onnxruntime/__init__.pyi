from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

class SessionOptions:
    intra_op_num_threads: int
    inter_op_num_threads: int
    enable_cpu_mem_arena: bool

class InferenceSession:
    def __init__(
        self,
        path_or_bytes: str | bytes | PathLike[str],
        sess_options: SessionOptions,
        providers: Sequence[str],
    ) -> None: ...
    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]
    ) -> Sequence[Any]: ...

class FuseOSError(OSError):
    def __init__(self, errno: int) -> None: ...

class Operations:
    use_ns: bool

class FUSE:
    def __init__(
        self,
        operations: Operations,
        mountpoint: str,
        *,
        foreground: bool,
        nothreads: bool,
        hard_remove: bool,
        fsname: str,
    ) -> None: ...

def fuse_get_context() -> tuple[int, int, int]: ...

"""What a user can cause. Each message says what, where and how to mend it; a bug of ours is an `assert` instead."""


class ChronozarrError(Exception):
    """Base of every error that this package raises on purpose; its text is one paragraph fit to show to a person."""


class InputError(ChronozarrError, ValueError):
    """The input raster, or an option, is not something that can be stored."""


class ReadError(InputError):
    """A file of the input cannot be opened or read: it is missing, torn, or its host does not answer."""


class PlanError(ChronozarrError, ValueError):
    """The work does not fit: memory, number of objects, shape of the source."""


class TargetError(ChronozarrError, OSError):
    """The target or the journal cannot be written, or holds something that the run did not write."""


class TargetFullError(TargetError):
    """There is no space left, or no permission: trying again does not help."""


class ConditionalCreateError(TargetError):
    """The store has no conditional create (If-None-Match, a hard link): it cannot tell which of two runs came first."""


class ResumeError(ChronozarrError):
    """A journal belongs to another input, other options or another version of this package."""


class RunError(ChronozarrError, RuntimeError):
    """Regions failed; what was finished is kept in the journal, and there is no root document."""


class StoreError(ChronozarrError, ValueError):
    """A store, or one of its objects, is not what the specification says."""


class NotCompleteError(StoreError):
    """The store's run has not been committed: there is no root document yet."""


class ChronozarrWarning(UserWarning):
    """Something that a person should know about an input, a store or a cluster."""

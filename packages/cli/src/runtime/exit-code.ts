/** Exit codes of the process; part of the command's stable interface. */
export const EXIT = {
  /** Done; for `check` and `explain`: allowed. */
  ok: 0,
  /** The operation failed; for `check` and `explain`: denied. */
  failed: 1,
  /** Wrong usage, or the request could not be evaluated. */
  usage: 2,
  /** For `plan --exit-code`: something would change. */
  changes: 3,
  /** For `check` and `explain`: the decision depends on an unknown address. */
  open: 3,
  /** For `apply --require-replay`: the files would deny more recorded requests than allowed. */
  newlyDenied: 4,
  /** A defect of this program. */
  bug: 70,
  /** Broken or missing configuration, such as credentials. */
  configuration: 78,
} as const
